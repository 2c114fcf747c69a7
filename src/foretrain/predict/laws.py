"""The laws of the weights at the start."""

from foretrain.networks.gated import INITIAL_LAWS

DECOUPLED = "decoupled"
LAWS = (DECOUPLED, *INITIAL_LAWS)


def start_words(law: str, scale: float) -> str:
    """Return the start that a law and its scale give in words."""
    if law == DECOUPLED:
        return f"strength {scale:g}"
    entries = {
        "normal": f"independent entries N(0, {scale:g}^2)",
        "orthogonal": f"orthogonal matrices times {scale:g}",
        "xavier_normal": f"independent normal entries of variance {scale:g}^2 x 2 / (fan in + fan out)",
        "xavier_uniform": f"uniform entries of variance {scale:g}^2 x 2 / (fan in + fan out)",
    }
    return f"random weights, {entries[law]}"
