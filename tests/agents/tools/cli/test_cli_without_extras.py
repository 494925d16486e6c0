"""The command where only the core package is installed."""

import sys

import pytest

from rlanything_agents.__main__ import main


@pytest.mark.parametrize("absent", ["typer"])
def test_it_says_what_to_install(
    absent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == absent or ".tools.cli" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.setattr(sys, "argv", ["rlanything", "doctor"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert f"({absent}" in capsys.readouterr().err
