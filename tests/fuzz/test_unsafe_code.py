"""Nothing is unpickled, no text becomes code, no shell is started: except where it is named here, with the reason."""

from __future__ import annotations

import ast
import re

from fuzz_sources import calls, imports, modules

PICKLES = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "shelve", "joblib", "marshal", "xmlrpc", "telnetlib"}
PICKLES_ALLOWED = {
    "rlanything_agents.training.imitation": "names UnpicklingError, which torch raises on a damaged file",
    "rlanything_envs.testing.promises": "unpickles what it pickled in the same line",
    "rlanything_verifiers.coding.sandbox.process": "writes what the judge tells its worker",
    "rlanything_verifiers.coding.sandbox.runtime": "reads what a process of its own printed about Python's library",
    "rlanything_verifiers.coding.sandbox.worker": "reads what the judge wrote, before any program runs",
}

CODE = {"eval", "exec", "compile", "__import__", "builtins.eval", "builtins.exec", "code.interact", "runpy.run_path"}
CODE_ALLOWED = {
    "rlanything_verifiers.coding.sandbox.program": "runs the program, inside the sandbox",
    "rlanything_verifiers.coding.sandbox.runtime": "imports the standard library's modules, in a process of its own",
    "rlanything_verifiers.coding.sandbox.submission": "compiles the program, inside the sandbox",
    "rlanything_verifiers.coding.sandbox.worker": "imports the packages that its user named, inside the sandbox",
    "rlanything_envs.osworld.desktop.guest.zygote": "runs an agent's code, inside the guest",
}

UNSAFE_YAML = {"load", "load_all", "full_load", "unsafe_load", "full_load_all", "unsafe_load_all"}


def test_nothing_is_unpickled() -> None:
    found = {name for name, tree in modules() if PICKLES & {module.partition(".")[0] for module in imports(tree)}}
    assert found == set(PICKLES_ALLOWED)


def test_tensors_are_loaded_as_tensors_alone() -> None:
    loads = [(name, call) for name, tree in modules() for called, call in calls(tree) if called == "torch.load"]
    assert loads
    for name, call in loads:
        given = {word.arg: word.value for word in call.keywords}
        assert getattr(given.get("weights_only"), "value", None) is True, name


def test_no_array_is_unpickled() -> None:
    for name, tree in modules():
        for called, call in calls(tree):
            assert called not in ("np.load", "numpy.load", "pd.read_pickle", "pandas.read_pickle"), name
            assert not any(word.arg == "allow_pickle" for word in call.keywords), name


def test_no_text_becomes_code() -> None:
    found = {name for name, tree in modules() for called, _ in calls(tree) if called in CODE}
    assert found == set(CODE_ALLOWED)


def test_yaml_is_plain_data() -> None:
    for name, tree in modules():
        for called, _ in calls(tree):
            library, _, function = called.partition(".")
            assert library != "yaml" or function not in UNSAFE_YAML, name


def test_models_come_with_no_code() -> None:
    """Without ``trust_remote_code=False`` transformers asks, or runs what lies beside the weights."""
    for name, tree in modules():
        for called, call in calls(tree):
            given = [word.value for word in call.keywords if word.arg == "trust_remote_code"]
            assert all(getattr(value, "value", None) is False for value in given), name
            if called.endswith(".from_pretrained") and called.partition(".")[0] in ("kind", "transformers"):
                assert given, name
            assert given or not re.fullmatch(r"Auto\w+\.from_pretrained", called), name


def test_xml_is_read_without_entities_and_network() -> None:
    """The one reader that builds trees says so; the others go through expat, which resolves nothing by itself."""
    made = ("XMLParser", "HTMLParser")
    parsers = [(name, call) for name, tree in modules() for called, call in calls(tree) if called.endswith(made)]
    assert {name for name, _ in parsers} == {"rlanything_verifiers.osworld.opening"}
    for name, call in parsers:
        given = {word.arg: word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)}
        assert (given.get("no_network"), given.get("huge_tree")) == (True, False), name
    others = {imported for _, tree in modules() for imported in imports(tree) if imported.startswith("xml.")}
    assert others <= {"xml.parsers", "xml.sax.saxutils"}  # expat, and the escaping of what is written


def test_archives_are_never_unpacked_to_disk() -> None:
    for name, tree in modules():
        for called, _ in calls(tree):
            assert called.rpartition(".")[2] not in ("extractall", "unpack_archive"), name


def test_no_shell_on_this_machine() -> None:
    """A shell may be asked of a guest; the two processes that start one run inside it."""
    found = {
        name
        for name, tree in modules()
        for called, call in calls(tree)
        if called in ("os.system", "os.popen")
        or (called.startswith("subprocess.") and any(word.arg == "shell" for word in call.keywords))
    }
    assert found <= {"rlanything_envs.osworld.desktop.guest.inside"}
