"""What the session's bash runs: a loop that takes orders over a private pipe and answers over another.

As little as possible of it can be upset by what a command left behind: builtins are called as such, nothing is forked,
and options like `set -e` and `set -u` make no difference.
"""

from __future__ import annotations

GO, STATUS, TEXT = 200, 201, 202
"""Descriptors of the shell: orders, answers, and the text of a command."""
OUTLETS = tuple((203 + 2 * index, 204 + 2 * index) for index in range(4))
"""Where output and errors of commands go. There are several, so that what a background process of one command writes
late is not taken for the output of another."""
RUN, SAVE, RESTORE = "r", "s", "l"
"""Orders: `<order> <output> <errors>\\0`, and, once that is done, a number that is given back as a proof."""

_TO = '>&"${__aw_go[1]}"'
_END = rf"builtin printf '\0' {_TO}"
_SAVE = rf"""
      builtin printf %s "${{PWD-}}" {_TO}; {_END}
      builtin declare -p {_TO}; {_END}
      builtin test $# = 0 || builtin printf ' %q' "$@" {_TO}; {_END}
      builtin printf '%q\n' "${{DIRSTACK[@]:1}}" {_TO}; {_END}
      builtin umask -p {_TO}; {_END}
      for __aw_limit in c d f l n s t u v x; do
        builtin printf '%s ' "-S$__aw_limit" {_TO}; builtin ulimit "-S$__aw_limit" {_TO} || builtin echo - {_TO}
        builtin printf '%s ' "-H$__aw_limit" {_TO}; builtin ulimit "-H$__aw_limit" {_TO} || builtin echo - {_TO}
      done
      {_END}
      builtin alias -p {_TO} || builtin :; {_END}
      builtin declare -f {_TO} || builtin :; {_END}
      builtin declare -F {_TO} || builtin :; {_END}
      builtin trap -p {_TO}; {_END}
      builtin enable -n {_TO}; {_END}
      builtin shopt -p {_TO} || builtin :; {_END}
      builtin set +o {_TO}; {_END}
"""
SECTIONS = _SAVE.count(_END)
"""How many parts, each with a NUL behind it, the shell tells of its state (see `shell_state`)."""
_CLOSED = " ".join(f"{fd}>&-" for pair in OUTLETS for fd in pair)
_COMMAND = f'. /dev/fd/{TEXT} {GO}<&- {STATUS}>&- 0</dev/null 1>&"${{__aw_go[1]}}" 2>&"${{__aw_go[2]}}" {_CLOSED}'
DRIVER = rf"""
echo 1000 2>/dev/null >/proc/self/oom_score_adj
__aw_again() {{ return "$__aw_code"; }}
__aw_code=0
trap 'return 130' USR1
while IFS=' ' builtin read -r -d '' -a __aw_go -u {GO}; do
  __aw_status=0
  case ${{__aw_go[0]}} in
    {RUN})
      # The exit code of the last command is what $? tells at the beginning of this one.
      if builtin test "$__aw_code" = 0; then {_COMMAND}; else __aw_again || {_COMMAND}; fi
      __aw_status=$?
      __aw_code=$__aw_status
      ;;
    {SAVE})
{_SAVE}
      ;;
    {RESTORE})
      IFS= builtin read -r -d '' __aw_text </dev/fd/{TEXT}
      builtin eval "$__aw_text"
      builtin unset -v __aw_text
      __aw_status=0
      ;;
  esac
  builtin trap 'return 130' USR1
  IFS= builtin read -r -d '' -u {GO} __aw_nonce
  builtin printf '%s %s %s\0' "$__aw_nonce" "$__aw_status" "${{PWD-}}" >&{STATUS}
  builtin unset -v __aw_nonce
done
"""
