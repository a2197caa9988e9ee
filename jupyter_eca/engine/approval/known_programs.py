"""Owns the lists of programs that the approval of shell commands knows: which only read, which run other programs, and
which move folders.

A program *only reads* if, with the options listed here, it neither writes nor runs other programs.

An approval can be remembered for such a program by its name. For all other programs it is remembered for the exact
line. This module must not parse anything: its neighbours `shell_parser` and `line_targets` use the lists.

The list of programs that only read is short and reviewed by hand. It has the harmless options of each program. Any
other option may write (`sort -o`) or run a program (`git grep -O`), so a command with such an option does not count as
one that only reads. Options are compared as whole words, because GNU programs accept abbreviations: `--outp=x` is
`--output=x`.

To add a program, read its manual for options and operands that write, run or load something. When in doubt, leave it
out: then approvals are remembered for its exact line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ReadOnlyProgram:
    """The arguments with which a program only reads."""

    options: re.Pattern[str]
    """The whole of each word that begins with a hyphen must match this, except a single hyphen."""
    operands: re.Pattern[str]
    """The whole of each other word must match this. A single hyphen is an operand too: it stands for a file."""
    max_operands: int | None = None
    """The maximum number of operands; None for any number."""


# Patterns for options and operands. Inside: paths in the current folder and below it, and words that are not paths.
# A word that begins with `=` is left out because zsh replaces it by a path.
_INSIDE: Final = r"(?!/|=)(?!(?:.*/)?\.\.(?:/|$)).*"
_ANY: Final = r".*"
_NONE: Final = r"(?!)"  # matches nothing


def _define_program(options: str, operands: str = _INSIDE, max_operands: int | None = None) -> ReadOnlyProgram:
    """Return a program for the list below, with these patterns. The option `--`, which ends the options, is allowed for
    each program."""
    return ReadOnlyProgram(re.compile(rf"--|{options}", re.DOTALL), re.compile(operands, re.DOTALL), max_operands)


# `grep`, `egrep` and `fgrep` have the same options.
_GREP: Final = _define_program(
    r"-[abcEFGHhIiLlnoPqRrsTUvwxyZz]*(?:[ABCm][0-9]*|e)?|-[0-9]+"
    r"|--(?:ignore-case|line-number|recursive|count|files-with-matches|files-without-match|only-matching|word-regexp"
    r"|line-regexp|fixed-strings|extended-regexp|basic-regexp|perl-regexp|invert-match|no-filename|with-filename"
    r"|no-messages|quiet|text|null|color(?:=[a-z]+)?"
    r"|(?:include|exclude|exclude-dir)=[^/]*|(?:context|after-context|before-context|max-count)=[0-9]+)"
)
# The options of `git diff`, which `git log` has too.
_GIT_DIFF: Final = (
    r"-[pubwsz]+|-U[0-9]+|--(?:stat|shortstat|numstat|dirstat|summary|name-only|name-status|cached|staged|patch|no-patch"
    r"|no-color|color(?:=[a-z]+)?|word-diff|unified=[0-9]+|ignore-all-space|ignore-space-change|ignore-blank-lines"
    r"|no-renames|minimal|patience|histogram|full-index|abbrev(?:=[0-9]+)?|diff-filter=[A-Za-z]+|merge-base|raw|check)"
)
# `%G` in a format of `git log` runs gpg, which checks signatures. So do `%+G`, `%-G` and `% G`.
_GIT_LOG: Final = (
    rf"{_GIT_DIFF}|-[0-9]+|-n[0-9]*|-[SGiE]|--(?:oneline|graph|all|branches|tags|remotes|decorate(?:=[a-z]+)?|follow"
    r"|reverse|merges|no-merges|first-parent|topo-order|date-order|abbrev-commit|max-count=[0-9]+|skip=[0-9]+"
    r"|(?:since|until|after|before|author|committer|grep)=.*|date=[a-z-]+|relative-date"
    r"|(?:pretty|format)=(?:[^%]|%[^-+ G]|%[-+ ][^G%])*)"
)

# The programs that only read, by their name. For some of them, the subcommand is a part of the name.
READ_ONLY: Final[dict[str, ReadOnlyProgram]] = {
    "basename": _define_program(r"-[az]+|-s", _ANY),
    "cat": _define_program(r"-[AbEensTtuv]+|--(?:number|number-nonblank|show-all|squeeze-blank|show-ends|show-tabs)"),
    "cmp": _define_program(r"-[bls]+"),
    "comm": _define_program(r"-[123]+"),
    "cut": _define_program(
        r"-[bcf][0-9,-]*|-d.?|-s|--(?:delimiter|fields|characters|bytes|output-delimiter)=.*|--complement"
    ),
    "date": _define_program(r"-[uR]|-I[a-z]*|--(?:utc|universal|iso-8601(?:=[a-z]+)?|rfc-email)", r"\+.*"),
    "df": _define_program(r"-[ahHiklPT]+"),
    "diff": _define_program(
        r"-[abBcdEiNpqrsTtuwyZ]+|-[CU][0-9]+"
        r"|--(?:brief|unified(?:=[0-9]+)?|context(?:=[0-9]+)?|recursive|side-by-side|ignore-case|ignore-all-space"
        r"|ignore-space-change|ignore-blank-lines|new-file|suppress-common-lines|color(?:=[a-z]+)?)"
    ),
    "dirname": _define_program(r"-z", _ANY),
    "du": _define_program(
        r"-[abchkmsxSHLD0]+|-d[0-9]*|--(?:max-depth=[0-9]+|summarize|human-readable|all|total|apparent-size)"
    ),
    "echo": _define_program(_ANY, _ANY),
    "egrep": _GREP,
    "false": _define_program(_NONE, _NONE),
    "fgrep": _GREP,
    "file": _define_program(r"-[bihLN]+|--(?:brief|mime|mime-type|mime-encoding)"),
    "find": _define_program(
        r"-(?:name|iname|path|ipath|regex|iregex|type|maxdepth|mindepth|size|mtime|mmin|newer|empty|print|not|and|or|o|a"
        r"|prune|[1-9][0-9]*)"
    ),
    "git blame": _define_program(r"-[bcflnpswMCte]+|-L[0-9,+]*|--(?:porcelain|line-porcelain|date=[a-z-]+|show-email)"),
    "git branch": _define_program(r"-[arv]+|--(?:list|all|remotes|show-current|verbose|no-color|sort=[a-z:-]+)", _NONE),
    "git describe": _define_program(r"--(?:tags|always|all|long|exact-match|abbrev=[0-9]+)"),
    "git diff": _define_program(_GIT_DIFF),
    "git log": _define_program(_GIT_LOG),
    "git ls-files": _define_program(
        r"-[cdmostuvz]+|--(?:cached|deleted|modified|others|ignored|stage|exclude-standard|full-name|error-unmatch)"
    ),
    "git remote": _define_program(r"-v|--verbose", _NONE),
    "git rev-parse": _define_program(
        r"--(?:short(?:=[0-9]+)?|abbrev-ref|verify|quiet|show-toplevel|show-prefix|git-dir|is-inside-work-tree)"
    ),
    "git shortlog": _define_program(r"-[nse]+|--(?:numbered|summary|email|all|no-merges|(?:since|until|author)=.*)"),
    "git show": _define_program(_GIT_LOG),
    "git stash list": _define_program(_NONE, _NONE),
    "git status": _define_program(
        r"-[sbz]+|-u(?:no|normal|all)?|--(?:short|branch|long|ignored|show-stash|porcelain(?:=v[12])?"
        r"|untracked-files(?:=[a-z]+)?|no-renames)"
    ),
    "git tag": _define_program(r"-l|--list|-n[0-9]*|--sort=[a-z:-]+", _NONE),
    "grep": _GREP,
    "head": _define_program(
        r"-[0-9]+|-[qvz]*(?:[cn][+-]?[0-9]*[kKMGb]?)?|--(?:lines|bytes)=[+-]?[0-9]+|--quiet|--verbose"
    ),
    "id": _define_program(r"-[Ggnru]+", r"[A-Za-z_][A-Za-z0-9_-]*"),
    "ls": _define_program(
        r"-[1ABCFGHLNQRSUXZabcdfghiklmnopqrstuvx]+"
        r"|--(?:all|almost-all|author|classify|directory|full-time|group-directories-first|human-readable|inode"
        r"|no-group|numeric-uid-gid|recursive|reverse|size|color(?:=[a-z]+)?|sort=[a-z]+|time=[a-z]+|time-style=[a-z-]+)"
    ),
    "md5sum": _define_program(r"-[bt]+"),
    "nl": _define_program(r"-[bhf][atn]|-[bhf]"),
    "pwd": _define_program(r"-[LP]", _NONE),
    "readlink": _define_program(r"-[efmnqsz]+"),
    "realpath": _define_program(r"-[emqsz]+"),
    "sha1sum": _define_program(r"-[bt]+"),
    "sha256sum": _define_program(r"-[bt]+"),
    "sort": _define_program(
        r"-[bcdfghiMnRruVz]+|-k[0-9.,bdfghiMnRrV]*|-t.?"
        r"|--(?:reverse|unique|numeric-sort|human-numeric-sort|version-sort|ignore-case|key=[0-9.,a-zA-Z]+)"
    ),
    "stat": _define_program(r"-[Lft]+|-c|--(?:format|printf)=.*|--(?:dereference|file-system|terse)"),
    "tail": _define_program(
        r"-[0-9]+|-[qvzfF]*(?:[cn][+-]?[0-9]*[kKMGb]?)?|--(?:lines|bytes)=[+-]?[0-9]+|--quiet|--verbose"
    ),
    "tr": _define_program(r"-[cCdst]+", _ANY),
    "tree": _define_program(r"-[adfilpsugDhFC]+|-L[0-9]*|-[IP]|--(?:dirsfirst|noreport|prune)"),
    "true": _define_program(_NONE, _NONE),
    "uname": _define_program(r"-[asnrvmpio]+", _NONE),
    # At most one operand, because `uniq` writes to the file that its second operand names.
    "uniq": _define_program(r"-[cdDiuz]+|-[fsw][0-9]+|--(?:count|repeated|unique|ignore-case)", _INSIDE, 1),
    "wc": _define_program(r"-[clLmw]+|--(?:lines|words|bytes|chars|max-line-length)"),
    "which": _define_program(r"-a", r"[A-Za-z0-9_.+-]+"),
    "whoami": _define_program(_NONE, _NONE),
}

# Programs and commands of the shell that write no file that an argument names, whatever the argument is.
WRITE_NO_ARGUMENT: Final = frozenset(
    {
        *("basename", "cat", "cmp", "comm", "cut", "date", "df", "diff", "dirname", "du", "echo", "egrep", "false"),
        *("fgrep", "grep", "head", "hostname", "id", "jq", "ls", "md5sum", "nl", "nproc", "pgrep", "pkill", "printf"),
        *("ps", "pwd", "readlink", "realpath", "rg", "sha1sum", "sha256sum", "sleep", "stat", "tac", "tail", "tr"),
        *("true", "type", "uname", "wc", "which", "whoami"),
        *(":", "[", "[[", "break", "case", "continue", "declare", "done", "esac", "exit", "export", "fi", "for"),
        *("function", "getopts", "jobs", "kill", "let", "local", "mapfile", "read", "readarray", "readonly", "return"),
        *("select", "seq", "set", "shift", "test", "typeset", "unset", "wait", "}"),
        *(f"git {name}" for name in ("add", "branch", "commit", "fetch", "merge-base", "push", "rev-parse", "tag")),
    }
)

# Programs that run the program that their arguments name. Some take it as one text: `su -c "rm x"`, `trap "rm x" EXIT`.
RUNNERS: Final = frozenset(
    {
        *("alias", "builtin", "busybox", "bwrap", "capsh", "chroot", "chrt", "command", "dbus-run-session", "doas"),
        *("entr", "env", "eval", "exec", "expect", "fakeroot", "firejail", "flock", "gdb", "hyperfine", "ionice"),
        *("linux32", "linux64", "ltrace", "nice", "nohup", "nsenter", "numactl", "parallel", "perf", "pkexec"),
        *("prlimit", "proot", "rlwrap", "runuser", "script", "setarch", "setpriv", "setsid", "sg", "ssh"),
        *("start-stop-daemon", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "time", "timeout"),
        *("toybox", "trap", "unbuffer", "unshare", "valgrind", "watch", "xargs", "xvfb-run"),
        # Words of zsh before a command: `noglob rm x`.
        *("-", "nocorrect", "noglob", "repeat"),
        *("annotate-output", "at", "batch", "catchsegv", "chpst", "choom", "chronic", "cpulimit", "crontab"),
        *("dbus-launch", "dumb-init", "eatmydata", "envdir", "faketime", "flatpak-spawn", "gosu", "ifne", "mosh"),
        *("ncat", "rsh", "run-parts", "screen", "setlock", "socat", "softlimit", "sshpass", "su-exec", "tini", "tmux"),
        *("ld.so", "ld-linux.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "xterm"),
    }
)
# Shells. Without the name of a script they run the text that they read: `echo rm x | sh`.
SHELLS: Final = frozenset({"sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh"})

# The settings of git whose value is a program, or a file with such settings: `git -c core.pager=x log`.
_GIT_SETTINGS: Final = (
    r"(?:alias|pager|credential|filter|difftool|mergetool|include|includeif|protocol|trailer)\..+"
    r"|core\.(?:askpass|editor|fsmonitor|gitproxy|hookspath|pager|sshcommand)"
    r"|(?:init\.templatedir|interactive\.difffilter|sequence\.editor|uploadpack\.packobjectshook)"
    r"|(?:diff\.external|.+\.(?:command|driver|program|textconv|uploadpack|receivepack|update|tunnel|smtpserver))"
)
# A script of awk that runs a program: `system("x")`, or a pipe to or from one.
_AWK: Final = re.compile(r".*(?:system\s*\(|\|&|\|\s*(?:\"|getline)|\bprintf?\b[^;}\"|]*\|\s*[A-Za-z_]).*", re.DOTALL)
# The command `e` of GNU sed, or the flag `e` of its command `s`.
_SED_ADDRESS: Final = r"(?:[0-9$,~!+]|/[^/]*/)"
_SED: Final = re.compile(
    rf"(?:.*[;{{\n])?\s*(?:{_SED_ADDRESS}*\s*e\s+\S.*|{_SED_ADDRESS}+\s*e\s*(?:[;}}\n].*)?)"
    r"|.*?s([^\w\s\\])(?:(?!\1).)*\1(?:(?!\1).)*\1[gpiImM0-9]*e[gpiImMw0-9]*\s*(?:[;}\n].*)?",
    re.DOTALL,
)
# Options of vi and its successors that run a command of the editor or a script.
_EDITOR: Final = re.compile(r"\+.*|-[a-zA-Z]*[cSs].*|--cmd.*", re.DOTALL)
# Programs that run another program only if one of their arguments matches this pattern.
RUNNING_ARGUMENTS: Final[dict[str, re.Pattern[str]]] = {
    "compgen": re.compile(r"-[a-zA-Z]*[CF].*", re.DOTALL),
    "complete": re.compile(r"-[a-zA-Z]*[CF].*", re.DOTALL),
    "enable": re.compile(r"-[a-z]*f.*", re.DOTALL),
    "find": re.compile(r"-(?:exec|ok).*"),
    "git": re.compile(
        rf"(?:-c)?(?:{_GIT_SETTINGS})=.*|--config-env=.*|--exec(?:=.*)?|--exec-path=.*|-x|-O.+|ext::.*"
        r"|--(?:open|upload-p|receive-p).*|foreach|filter-branch|run|difftool|mergetool",
        re.IGNORECASE | re.DOTALL,
    ),
    "hash": re.compile(r"-[a-z]*p.*", re.DOTALL),
    "ip": re.compile(r"exec"),
    "rg": re.compile(r"--(?:pre|hostname-bin)(?:=.*)?", re.DOTALL),
    "rsync": re.compile(r"-[a-zA-Z]*e.*|--rsh.*", re.DOTALL),
    "sed": _SED,
    "sort": re.compile(r"--com.*", re.DOTALL),
    "split": re.compile(r"--fi.*", re.DOTALL),
    "sqlite3": re.compile(r".*\.(?:shell|system|load|read|import|once|output|excel|www?)\b.*", re.DOTALL),
    # GNU tar accepts abbreviations of options.
    "tar": re.compile(r"-[a-zA-Z]*[IF].*|--(?:checkpoint-a|info|new-vol|rsh|to-c|us).*", re.DOTALL),
    "zip": re.compile(r"-TT.*|--unzip-c.*", re.DOTALL),
    "less": re.compile(r"\+.*", re.DOTALL),
    "man": re.compile(r"-[a-zA-Z]*[PH].*|--(?:pager|html).*", re.DOTALL),
    **dict.fromkeys(("scp", "sftp"), re.compile(r"-[a-zA-Z0-9]*[SoD].*", re.DOTALL)),
    **dict.fromkeys(("mapfile", "readarray"), re.compile(r"-[a-z]*C.*", re.DOTALL)),
    **dict.fromkeys(("ex", "nvim", "vi", "view", "vim"), _EDITOR),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
    **dict.fromkeys(SHELLS, re.compile(r"-[a-z]*[cs][a-z]*")),
}

# Programs that move, replace, fill or delete a whole folder that their arguments name.
MOVERS: Final = frozenset({"7z", "cp", "cpio", "install", "ln", "mv", "rm", "rmdir", "rsync", "tar", "unzip"})

# Programs whose next word, the subcommand, is part of the name in `READ_ONLY`: `git log`.
PROGRAMS_WITH_SUBCOMMANDS: Final = frozenset(name.rpartition(" ")[0] for name in READ_ONLY if " " in name)
