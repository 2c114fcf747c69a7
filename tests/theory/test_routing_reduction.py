import numpy as np
import pytest

from foretrain.tasks.domains import hierarchy_task
from foretrain.theory.routing_reduction import similarity


@pytest.mark.parametrize("cosine", [1.0, np.array([0.9, 0.5, 0.2, 0.0])])
def test_similarity_is_the_gram_matrix_of_what_encoders_make_of_the_items(cosine):
    task, domains, hidden = hierarchy_task((6.0, 4.0, 3.0)), 3, 40
    modes, strength = task.input_modes[0], np.array([1.5, 1.2, 0.9, 0.9])
    frame = np.linalg.qr(np.random.default_rng(0).normal(size=(hidden, hidden)))[0]
    shared, *own = np.split(frame[:, : 4 * (domains + 1)], domains + 1, axis=1)
    # Vectors of a part in common and one of their own: any two domains are at this cosine in every mode.
    encoders = [np.sqrt(cosine) * shared + np.sqrt(1 - cosine) * one for one in own]
    activity = np.concatenate([one * strength @ modes.T for one in encoders], axis=1)
    found = similarity(modes, strength**2, cosine, domains)
    np.testing.assert_allclose(found, activity.T @ activity, atol=1e-12)
