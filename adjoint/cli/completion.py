"""`adjoint completion bash|zsh|fish`: completion scripts, written from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from adjoint.cli import dispatch
from adjoint.cli.exits import OK
from adjoint.cli.program import examples

EXAMPLES = """\
  adjoint completion bash > ~/.local/share/bash-completion/completions/adjoint
  adjoint completion zsh > "${fpath[1]}/_adjoint"
  adjoint completion fish > ~/.config/fish/completions/adjoint.fish"""

Words = dict[str, tuple[list[str], bool]]  # by the words before: what may follow; files, too?


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="the shell")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    print(_SCRIPTS[options.shell](_words()), end="")
    return OK


def _words() -> Words:
    """What may follow after `adjoint`, after a command, after a command of a command."""
    found: Words = {"": ([*dispatch.COMMANDS, *_options(dispatch.top_parser())], False)}
    for name in dispatch.COMMANDS:
        found |= _of(dispatch.command_parser(name), name)
    found["train"][0].extend(examples())
    return found


def _of(parser: argparse.ArgumentParser, path: str) -> Words:
    below = dict(_children(parser))
    choices = [str(c) for action in _positionals(parser) for c in action.choices or ()]
    files = not below and any(not action.choices for action in _positionals(parser))
    found: Words = {path: ([*choices, *_options(parser)], files)}
    for name, child in below.items():
        found |= _of(child, f"{path} {name}")
    return found


def _children(parser: argparse.ArgumentParser) -> Iterator[tuple[str, Any]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _positionals(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if not action.option_strings]


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return sorted(parser._option_string_actions)


# ---- scripts


def _bash(words: Words) -> str:
    cases = "\n".join(
        f'    "{path}") words="{" ".join(offered)}"; files={int(files)} ;;'
        for path, (offered, files) in words.items()
    )
    return _BASH.replace("CASES", cases)


def _zsh(words: Words) -> str:
    """Zsh runs the script of bash, in its own emulation of bash's completion."""
    return f"#compdef adjoint\nautoload -U +X bashcompinit && bashcompinit\n{_bash(words)}"


def _fish(words: Words) -> str:
    lines = ["complete -c adjoint -f"]
    for path, (offered, files) in words.items():
        condition = f"'__adjoint_at \"{path}\"'"
        lines.append(f"complete -c adjoint -n {condition} -a '{' '.join(offered)}'")
        if files:
            lines.append(f"complete -c adjoint -n {condition} -F")
    paths = " ".join(f'"{path}"' for path in words)
    return _FISH.replace("PATHS", paths) + "\n".join(lines) + "\n"


_BASH = """\
_adjoint() {
  local current="${COMP_WORDS[COMP_CWORD]}" path="" next words="" files=0 i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="${path:+$path }${COMP_WORDS[i]}"
    _adjoint_words "$next" && path="$next"
  done
  _adjoint_words "$path"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if ((files)) && [[ "$current" != -* ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}
_adjoint_words() {
  case "$1" in
CASES
    *) return 1 ;;
  esac
}
complete -F _adjoint adjoint
"""
_FISH = """\
function __adjoint_at
  set -l path ""
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$path $word")
    contains -- "$next" PATHS; and set path "$next"
  end
  test "$path" = "$argv[1]"
end
"""
_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
