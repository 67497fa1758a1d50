"""Write completion scripts for bash, zsh and fish from the grammar.

The scripts ask for names that only the server knows (tasks, projects) with `maestro __complete`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from maestro.surfaces.cli.completion import (
    FILES,
    Candidate,
    ValueSlot,
    argument_at,
    flags_at,
    next_words_at,
    values_at,
    visible_nodes,
)
from maestro.surfaces.cli.grammar import CommandNode, Grammar
from maestro.surfaces.cli.local_commands import Shell

_BASH = """\
# bash completion for maestro: eval "$(maestro completion bash)"
_maestro_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }}
_maestro_files() {{ mapfile -t COMPREPLY < <(compgen -f -- "$cur"); compopt -o filenames 2>/dev/null; }}
_maestro_ask() {{
    local asked
    asked=$(maestro __complete -- "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null </dev/null | cut -f1)
    local IFS=$'\\n'
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY <<< "$asked"
    [[ -n $asked ]] || unset 'COMPREPLY[-1]'
}}
_maestro() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} at='' i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${{COMP_WORDS[i]}}" in
{steps}
        esac
    done
    case "$at|$prev" in
{values}
    esac
    if [[ $cur == -* ]]; then
        case "$at" in
{flags}
        esac
        return
    fi
    case "$at" in
{words}
    esac
}}
complete -F _maestro maestro
"""
_ZSH = """\
#compdef maestro
# zsh completion for maestro: source <(maestro completion zsh), or a file named _maestro in your fpath
_maestro_ask() {{
    local -a asked
    asked=(${{(f)"$(maestro __complete -- "${{(@)words[2,CURRENT]}}" 2>/dev/null </dev/null)"}})
    asked=(${{asked%%$'\\t'*}})
    (( $#asked )) && compadd -a asked
}}
_maestro() {{
    local at='' i
    local -a offered
    for (( i = 2; i < CURRENT; i++ )); do
        case "$at ${{words[i]}}" in
{steps}
        esac
    done
    case "$at|${{words[CURRENT-1]}}" in
{values}
    esac
    if [[ ${{words[CURRENT]}} == -* ]]; then
        case "$at" in
{flags}
        esac
        _describe 'flag' offered
        return
    fi
    case "$at" in
{words}
    esac
}}
if [[ "$funcstack[1]" == _maestro ]]; then
    _maestro "$@"
else
    compdef _maestro maestro
fi
"""
_FISH = """\
# fish completion for maestro: maestro completion fish | source
function __maestro_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
{steps}
        end
    end
    test "$at" = "$argv[1]"
end
function __maestro_ask
    maestro __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null </dev/null
end
complete -c maestro -f
{lines}
"""


def completion_script(shell: Shell, grammar: Grammar) -> str:
    """Return the completion script for a shell."""
    match shell:
        case Shell.BASH:
            return _fill_template(_BASH, grammar, describe=_bash_flags, offer=_bash_words, fill=_bash_slot)
        case Shell.ZSH:
            return _fill_template(_ZSH, grammar, describe=_zsh_flags, offer=_zsh_words, fill=_zsh_slot)
        case Shell.FISH:
            return _fish_script(grammar)


def _fill_template(
    template: str,
    grammar: Grammar,
    *,
    describe: Callable[[list[Candidate]], str],
    offer: Callable[[list[Candidate]], str],
    fill: Callable[[ValueSlot], str],
) -> str:
    """Fill a template for bash or zsh. The two shells need the same cases, but other commands in each case."""
    values, flags, words = [], [], []
    for node in visible_nodes(grammar):
        at = _quote_text(node.words)
        for flag, slot in values_at(node).items():
            values.append(f"        {_quote_text(f'{node.words}|{flag}')}) {fill(slot)}; return ;;")
        flags.append(f"            {at}) {describe(flags_at(node))} ;;")
        words.append(f"        {at}) {'; '.join(_offer_words(node, offer, fill))} ;;")
    return template.format(
        steps=_transition_cases(grammar, "            {}) at={} ;;"),
        values="\n".join(values),
        flags="\n".join(flags),
        words="\n".join(words),
    )


def _offer_words(
    node: CommandNode, offer: Callable[[list[Candidate]], str], fill: Callable[[ValueSlot], str]
) -> Iterable[str]:
    """Yield the shell commands that offer the next words and values at a node, without flags."""
    argument = argument_at(node)
    offered = [*next_words_at(node), *(Candidate(word) for word in argument.words)]
    if offered:
        yield offer(offered)
    if argument.kind:
        yield fill(ValueSlot(kind=argument.kind))
    if not offered and not argument.kind:
        yield ":"


def _transition_cases(grammar: Grammar, pattern: str) -> str:
    """Return the cases that move from each node to its children."""
    return "\n".join(
        pattern.format(_quote_text(f"{node.words} {word}"), _quote_text(node.children[word].words))
        for node in visible_nodes(grammar)
        for word in (candidate.word for candidate in next_words_at(node))
    )


def _bash_flags(offered: list[Candidate]) -> str:
    return _bash_words(offered)


def _bash_words(offered: list[Candidate]) -> str:
    return f"_maestro_words {_quote_text(' '.join(candidate.word for candidate in offered))}"


def _bash_slot(slot: ValueSlot) -> str:
    if slot.words:
        return f"_maestro_words {_quote_text(' '.join(slot.words))}"
    return {"": ":", FILES: "_maestro_files"}.get(slot.kind, "_maestro_ask")


def _zsh_flags(offered: list[Candidate]) -> str:
    return f"offered=({_described_words(offered)})"


def _zsh_words(offered: list[Candidate]) -> str:
    return f"offered=({_described_words(offered)}); _describe 'command' offered"


def _zsh_slot(slot: ValueSlot) -> str:
    if slot.words:
        return f"compadd -- {' '.join(map(_quote_text, slot.words))}"
    return {"": ":", FILES: "_files"}.get(slot.kind, "_maestro_ask")


def _described_words(offered: list[Candidate]) -> str:
    escaped = ((candidate.word.replace(":", "\\:"), candidate.description) for candidate in offered)
    return " ".join(_quote_text(f"{word}:{description}" if description else word) for word, description in escaped)


def _fish_script(grammar: Grammar) -> str:
    lines = [line for node in visible_nodes(grammar) for line in _fish_lines(node)]
    steps = _transition_cases(grammar, "            case {}\n                set at {}")
    return _FISH.format(steps=steps, lines="\n".join(lines))


def _fish_lines(node: CommandNode) -> Iterable[str]:
    condition = f'__maestro_at "{node.words}"'
    start = f"complete -c maestro -n {_quote_text(condition)}"
    argument = argument_at(node)
    for offered in [*next_words_at(node), *(Candidate(word) for word in argument.words)]:
        yield f"{start} -a {_quote_text(offered.word)}{_fish_description(offered)}"
    if argument.kind:
        yield f"{start} {_fish_slot(ValueSlot(kind=argument.kind))}"
    values = values_at(node)
    for flag in flags_at(node):
        takes = f" -r {_fish_slot(values[flag.word])}".rstrip() if flag.word in values else ""
        yield f"{start} -l {flag.word.removeprefix('--')}{takes}{_fish_description(flag)}"


def _fish_slot(slot: ValueSlot) -> str:
    if slot.words:
        return f"-a {_quote_text(' '.join(slot.words))}"
    return {"": "", FILES: "-F"}.get(slot.kind, "-a '(__maestro_ask)'")


def _fish_description(offered: Candidate) -> str:
    return f" -d {_quote_text(offered.description)}" if offered.description else ""


def _quote_text(text: str) -> str:
    # A typographic apostrophe needs no quoting; the three shells quote a plain apostrophe in different ways.
    return "'" + text.replace("'", "’") + "'"
