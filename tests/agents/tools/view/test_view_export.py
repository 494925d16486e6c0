"""The pages as files: everything is there, nothing is from elsewhere."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.tools.view import Site, export_site


@pytest.fixture(scope="module")
def exported(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("export") / "site"
    export_site(Site(runs), target)
    return target


def test_every_resource_is_a_file(runs: Path, exported: Path) -> None:
    site = Site(runs)
    for name in site.names():
        text = (exported / "data" / f"{name}.js").read_text()
        found = re.fullmatch(r"RL\.take\((\".*\"),(\"[A-Za-z0-9+/=]*\")\);\n", text)
        assert found is not None
        assert json.loads(found[1]) == name
        stored, live = json.loads(gzip.decompress(base64.b64decode(json.loads(found[2])))), json.loads(site.get(name))
        for each in (stored, live):
            if isinstance(each, dict):
                each.pop("stamp", None)  # it changes with the files of an open pool, which reading it makes and removes
        assert stored == live
    for name in site.images():
        assert (exported / "data" / name).read_bytes()[:4] == b"RIFF"


def test_the_page_loads_its_own_files_only(exported: Path) -> None:
    page = (exported / "index.html").read_text()
    assert "Content-Security-Policy" in page
    assert "://" not in page
    for name in re.findall(r'(?:src|href)="([^"#]+)"', page):
        assert (exported / name).is_file()
    for file in (exported / "static").iterdir():
        text = file.read_text()
        addresses = set(re.findall(r"[a-z]+://[^\s\"']+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}
        assert "innerHTML" not in text
        assert "insertAdjacentHTML" not in text
        assert "eval(" not in text


def test_a_folder_with_something_in_it_is_left_alone(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(RunFolderError, match="new or an empty folder"):
        export_site(Site(runs / "alfworld"), tmp_path)
    with pytest.raises(RunFolderError):
        export_site(Site(runs / "alfworld"), tmp_path / "mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine"]


def test_what_cannot_be_read_is_told_on_the_page(run: Path, tmp_path: Path) -> None:
    (run / "trajectories" / "0002.jsonl.gz").write_bytes(b"x")
    (run / "trajectories" / "0003.jsonl.gz").symlink_to(run / "trajectories" / "0001.jsonl.gz")
    (run / "summary.json").write_text("{")
    (run / "pool.sqlite").write_bytes(b"x" * 5000)
    target = tmp_path / "site"
    written = export_site(Site(run), target)
    assert written == sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    packed = json.loads(re.findall(r"\".*?\"", (target / "data" / "r0" / "index" / "2.js").read_text())[1])
    assert "damaged" in json.loads(gzip.decompress(base64.b64decode(packed)))["problems"][0]
    for name, why in (("tasks", "not a task pool"), ("index/3", "not a plain file")):
        packed = json.loads(re.findall(r"\".*?\"", (target / "data" / "r0" / f"{name}.js").read_text())[1])
        assert why in json.loads(gzip.decompress(base64.b64decode(packed)))["error"]
