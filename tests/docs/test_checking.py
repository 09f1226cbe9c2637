"""Each fault that the check of the built site looks for is found, and nothing else."""

from pathlib import Path

import pytest
from generator.checking import faults_of

RIGHT = (
    '<h1 id="top">x</h1><a href="#top">x</a><a href="b/c.html#there">x</a>'
    '<a href="https://example.org">x</a><img src="p.png" alt="p"><code>$x$ \\frac</code>'
    '<math><mi>x</mi></math><div class="math-display"><math></math></div>'
)


def site(folder: Path, text: str) -> list[str]:
    (folder / "b").mkdir()
    (folder / "b" / "c.html").write_text('<h1 id="there">x</h1><a href="../a.html">x</a>')
    (folder / "p.png").write_bytes(b"")
    (folder / "a.html").write_text(text)
    return list(faults_of(folder))


def test_a_right_page_has_no_fault(tmp_path: Path) -> None:
    assert site(tmp_path, RIGHT) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('<a href="gone.html">x</a>', "gone.html leads to no file"),
        ('<a href="b/c.html#gone">x</a>', "leads to no place"),
        ('<a href="#gone">x</a>', "leads to no place"),
        ('<img src="p.png">', "without an alternative text"),
        ('<img src="p.png" alt=" ">', "without an alternative text"),
        ('<img src="gone.png" alt="x">', "gone.png leads to no file"),
        ('<script src="https://cdn.example.org/a.js"></script>', "asks for https"),
        ("<p>so $x$ is</p>", "not set"),
        (r"<p>\(x\)</p>", "not set"),
        (r"<p>\frac{1}{2}</p>", "not set"),
        ('<span class="math notranslate">x</span>', "not set"),
        ("<math><merror>x</merror></math>", "could not be set"),
        ("<math><mi>&</mi></math>", "mark of alignment"),
    ],
)
def test_a_fault_is_found(more: str, said: str, tmp_path: Path) -> None:
    (fault,) = site(tmp_path, RIGHT + more)
    assert fault.startswith("a.html: ")
    assert said in fault
