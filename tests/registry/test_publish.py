"""The registry as a site: every sentence once, links that lead somewhere, nothing fetched, text that is no markup."""

import re
from dataclasses import replace

import pytest
from made_claims import sample
from made_records import RECORD

from foretrain.errors import FolderError
from foretrain.registry.publish import publish
from foretrain.registry.table import OWN, document_of

CLAIMS = (
    sample("open", [0.0, 4.0], allowed=(1, 3), statement="Not settled.", size={}),
    sample("some", 1e-12, among="runs that learn", statement="Of some runs.", size={}),
    sample("wrong", [2.0, 2.1, 2.05], allowed=(0, 1), statement="Loss < 1 & falls.", size={}),
    sample("wrong.corrected", [2.0, 2.1, 2.05], allowed=(1, 3), corrects="wrong", size={}),
    sample("own", 1e-12, source="docs/theory/routing.md", rank="control", size={}),
)
ROUTING = replace(
    RECORD, study="routing", document="Saxe, Sodhani & Lewallen (2022), Fig. 4", claims=CLAIMS
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    written = publish([ROUTING, replace(ROUTING, size="paper")], out)
    return {path.name: path.read_text("utf-8") for path in written} | {"out": out}


def test_every_sentence_has_a_row_at_each_size_and_text_is_no_markup(site):
    page = site["index.html"]
    assert len(re.findall(r"<tr [^>]*data-verdict", page)) == 2 * len(CLAIMS)
    assert "Loss &lt; 1 &amp; falls." in page
    assert page.count('data-size="document"') == 2 * len(CLAIMS)


def test_links_lead_to_what_is_there(site):
    pages = [name for name in site if name.endswith(".html")]
    assert {"index.html", "errata.html", "routing.html"} == set(pages)
    for name in pages:
        for target in re.findall(r'(?:href|src)="([^"]+)"', site[name]):
            if target.startswith("data:"):
                continue
            file, _, anchor = target.partition("#")
            assert (site["out"] / (file or name)).exists(), target
            if anchor:
                assert f'id="{anchor}"' in site[file or name], target


def test_what_was_found_are_sentences_that_fail_beside_their_corrected_forms(site):
    page = site["index.html"].partition('<section id="studies">')[0]
    assert page.count("Loss &lt; 1") == 2
    assert page.count("routing/wrong.corrected") == 2
    assert "routing/own" not in page
    assert "escape_time_is_the_blow_up_time" in site["errata.html"]  # of the documentation


def test_a_source_names_its_document():
    assert document_of("Liu et al. (2022), Figs 2-5") == "Liu et al. (2022)"
    assert document_of("docs/theory/ridge-grokking.md (2022)") == OWN
    assert document_of("derived in docs") == OWN


def test_a_benchmark_that_an_installed_package_lacks_has_a_page_of_its_verdicts(tmp_path):
    publish([replace(ROUTING, study="benchmark-elsewhere")], tmp_path)
    page = (tmp_path / "benchmark-elsewhere.html").read_text("utf-8")
    assert '<p class="source">Saxe, Sodhani &amp; Lewallen (2022), Fig. 4</p>' in page
    assert page.count("Not settled.") == 1


def test_an_empty_registry_is_no_site_and_a_page_of_somebody_else_is_not_replaced(tmp_path):
    with pytest.raises(FolderError, match="holds no record"):
        publish([], tmp_path)
    (tmp_path / "index.html").write_text("my own page")
    with pytest.raises(FolderError, match="was not made by foretrain publish"):
        publish([RECORD], tmp_path)
    assert (tmp_path / "index.html").read_text() == "my own page"
