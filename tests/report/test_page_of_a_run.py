import json

from foretrain.claims.markup import formulas


def test_page_of_a_real_run_shows_its_claims_and_figures(routing_folder, browser, open_page):
    from selenium.webdriver.common.by import By

    open_page(routing_folder / "report.html")
    summary = json.loads((routing_folder / "summary.json").read_text())
    text = browser.find_element(By.TAG_NAME, "body").text
    for claim in summary["claims"]:
        assert formulas(claim["statement"]).striptags() in text
    assert "cores" in text  # of the machine
    pictures = list((routing_folder / "figures").glob("*.svg"))
    shown = [image for image in browser.find_elements(By.CSS_SELECTOR, "figure img")]
    assert len(shown) == len(pictures)
    assert all(image.size["width"] > 100 and image.size["height"] > 100 for image in shown)
