"""Which words a shell makes of a line: one of them is a protected path, or none is."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.approval.line_targets import find_protected_in_line
from jupyter_eca.engine.approval.path_resolver import PathResolver

# The one file that is protected here, and what the environment has.
FILE = "/t/found"
RESOLVER = PathResolver(machine_paths=(FILE,), variables={"DIR": "/t", "EMPTY": ""})


@pytest.mark.parametrize(
    "line",
    [
        # Variables, of the environment and of the line.
        *("cp h $DIR/found", "cp h ${DIR}/found", 'cp h "$DIR/found"', "A=/t; cp h $A/found", "A=/t cp h $A/found"),
        *(
            "A='/t'; cp h $A/found",
            'A="/t/fo"; cp h ${A}und',
            "A=x; A=/t; cp h $A/found",
            "A=/t; B=$A; cp h $B/found",
            "A=/t/fo*; ls > $A",
        ),
        *("export A=/t; cp h $A/found", "cp h $A/found; A=/t", "A=/t; { cp h $A/found; }", "A=/t; (cp h $A/found)"),
        # Loops.
        *("for x in a found b; do cp h /t/$x; done", "for x in $DIR; do cp h $x/found; done"),
        # Defaults and replacements.
        *("cp h /t/${A:-found}", "cp h /t/${A-found}", "cp h /t/${A:=found}", "cp h /t/${A=found}"),
        *("A=x; cp h /t/${A:-found}", "A=found; cp h /t/${A:-x}", "A=1; cp h /t/${A:+found}", "cp h /t/${A+found}"),
        *("cp h ${DIR:?}/found", "cp h ${DIR?}/found", "cp h /t/${A:+x}found", "cp h /t/${EMPTY}found"),
        "cp h ${DIR:-x}/found",
        # A beginning or an end that is removed.
        *("A=/t/found.x; cp h ${A%.x}", "A=/t/found.x.x; cp h ${A%%.x*}", "A=a/t/found; cp h ${A#a}"),
        *("A=b/a/t/found; cp h ${A##*a}", "A=/t/found; cp h ${A%.x}", "A=/t/found; cp h ${A#x}"),
        *("A=/t/found.x.x; cp h ${A%.x.x}", "A=/t/foundab; cp h ${A%[a]?}", "A=/t/found; cp h ${A%%}"),
        # `$'…'`, in octal and hexadecimal, and with other escapes.
        *("cp h $'/t/f\\157und'", "cp h $'/t/f\\x6fund'", "cp h $'/t/f\\u6fund'", "cp h $'/t/f\\U0000006fund'"),
        *("cp h $'\\/t\\/found'", "cp h /t/$'\\557'; cp h $'/t/f\\557und'", "cp h $'/t/found\\\\'/../found"),
        # What other programs print.
        *("cp h $(dirname /t/found/x)", "cp h /t/$(basename a/found)", "cp h /t/$(basename found.x .x)"),
        *("cp h /t/$(basename a/found/)", 'cp h "$(dirname "$DIR/found/x")"', "cp h /t/$(basename /x/found .y)"),
        *(
            "cd /t; cp h $(pwd)/found",
            "cd /t && cp h $PWD/found",
            "cp h /t/$(date +found)",
            "cp h `dirname /t/found/x`",
        ),
        *("cp h /$(dirname t/x)/found", "cp h $(dirname /t/x)/found", "cp h /t/$(basename $DIR/found)"),
        # Words that are split, and those that nobody knows before the line runs.
        *("IFS=:; A=x:/t/found; cp h $A", "cp h /t/$1", "cp h $(cat list)", "read A; cp h /t/$A", "cp h /t/${A/x/y}"),
        *(
            "A=(found); cp h /t/$A",
            "A[1]=x; cp h /t/$A",
            "cp h /t/${A:0:3}",
            "cp h /t/${!A}",
            "cp h ${A",
            "cp h /t/$UNSET",
        ),
        *("cp h $(basename $1)", "cp h $(dirname $1)", "cp h /t/$(basename x $1)", "cp h $'\\xc3'", "cp h $'\\ca'"),
        *(
            "cp h $(date -f list)",
            "cp h $(date +%Z)",
            "cp h $(date +%n)",
            "cp h $(date '+$A')",
            "cp h $(nproc; cat list)",
        ),
        *("nproc() { cat list; }; cp h $(nproc)", "alias nproc='cat list'; cp h $(nproc)"),
        *("A=*; cp h /t/${A#x}", "cp h /t/${1##*/}", "cp h $'\\U110000'", "cp h $'\\xe9'", "cp h $'it\\'s'"),
        *("cd /t; cp h $OLDPWD/found", "a=x; read a; cp h /t/$a", "B=x; read B; eval A=1; cp h /t/$B"),
        "ls > ${A:-/t/fo*}",
        # Lines within the line.
        *("env sh <<'END'\ncp h $DIR/found\nEND", "sh x <<'END'\ncp h $DIR/found\nEND"),
        *("echo $(cp h /t/found)", "echo `cp h /t/found`", 'echo "$(cp h $DIR/found)"', "sh -c 'cp h $DIR/found'"),
        *("A=/t; echo $(cp h $A/found)", "cat <<END\n$(cp h $DIR/found)\nEND", "sh <<END\ncp h $DIR/found\nEND"),
        *("cd /t; echo $(cp h found)", "sh <<'END'\ncp h $DIR/found\nEND", "cat <<END; cp h $DIR/found\nEND"),
        *(
            "cat <<-END\n\tx\n\tEND\ncp h $DIR/found",
            "cat <<A <<B\nA\nB\ncp h $DIR/found",
            'cat <<"A B"\nx\nA B\ncp h $DIR/found',
        ),
        *(
            "cat <<END\nx\ncp h $DIR/found",
            "# x\ncp h $DIR/found",
            "echo a#b; cp h $DIR/found",
            "echo $#; cp h $DIR/found",
        ),
        *("((i = 1)); cp h $DIR/found", "echo $[1 + 2]; cp h $DIR/found", "echo $((2 * (1 + 1))); cp h $DIR/found"),
        *(
            "echo 'a\nb'; cp h $DIR/found",
            'echo "a\nb"; cp h $DIR/found',
            "echo \\'; cp h $DIR/found",
            "cat <<< x; cp h $DIR/found",
        ),
        *(
            "echo ${A:-${B:-x}}; cp h $DIR/found",
            "echo $(echo $(echo x)); cp h $DIR/found",
            "echo \\$(; cp h $DIR/found",
        ),
    ],
)
def test_a_line_is_asked_about_if_one_of_its_words_may_become_a_protected_path(line: str) -> None:
    assert find_protected_in_line(line, "", RESOLVER)


@pytest.mark.parametrize(
    "line",
    [
        # Variables that have another value, or are numbers.
        *("A=/u; cp h $A/found", "A=/t; cp h $A/other", "cp h /t/$RANDOM", "cp h /t/$$", "cp h /t/$?", "cp h /t/$#"),
        *(
            "cp h '$DIR/found'x",
            "cp h \\$DIR/found",
            "A=/t/founds; cp h /t/${#A}",
            "A=/t/*; cp h ${A##*/}",
            "for x in a b; do cp h /t/$x; done",
        ),
        *("((A = 1)); cp h /t/$A", "cp h /t/${EMPTY:-x}", "cp h /t/${EMPTY:-}x", "cp h /t/${A:-x}", "cp h ${DIR:?}/x"),
        *("A=found; cp h /t/${A:+x}", "cp h /t/${A:+}x", "A=found; cp h /t/${A+x}", "cp h ${DIR}found"),
        # A beginning or an end that is removed: the shortest, or the longest.
        *("A=/t/found.x.x; cp h ${A%.x*}", "A=b/a/a/t/found; cp h ${A#*a}", "A=/t/foundd; cp h ${A%dd}"),
        *(
            "A=x/t/founds; cp h ${A#x}",
            "A=/t/found.x; cp h ${A%.y}",
            "A=/t/founds; cp h ${A##*/}",
            "A=/t/founds; cp h ${A%%f*}",
        ),
        # `$'…'`.
        *("cp h $'/t/f\\156und'", "cp h $'/t/fo\\tund'", "cp h $'/t/fo\\nund'", "cp h $'/t/fo\\rund'"),
        # What other programs print.
        *(
            "cp h $(dirname /t/found.x)",
            "cp h $(basename /u/found)",
            "cp h /t/$(basename found .x)x",
            "cp h /t/$(nproc)",
        ),
        *("cp h /t/$(whoami)", "cp h /t/$(hostname)", "cp h /t/$(id -u)", "cp h /t/$(id -g)", "cp h /t/$(uname -s)"),
        *("cp h /t/$(git rev-parse HEAD)", "cp h /t/$(git rev-parse --short HEAD)", "cp h /t/$(git merge-base a b)"),
        *("cp h $(mktemp)", "cp h $(mktemp -d)/x", "cp h /t/$(date)", "cp h /t/$(date +%F)", "cp h /t/$(date -u +%s)"),
        *("cp h /t/$(date +%-d)", "cp h $(git rev-parse --show-toplevel)/x", "cp h $(pwd)/found", "cp h $PWD/x"),
        *("cp h /t/$(date '+x y')", "cp h $OLDPWD/x", "cp h /t/$(basename x x)y", "cp h $(dirname x)/y"),
        # A number of things is unknown, and is not what is written to.
        *("echo $(cat list)", "echo $1", "A=$(cat list); echo $A", "ls $(cat list) > out", "cat $1 > out"),
        *("A=/u; echo $(cp h $A/x)", "for f in *.md; do wc $f; done", "for f in *.md; do cp $f out; done"),
        # Texts that no shell runs.
        *("cat <<'END'\ncp h $DIR/found\nEND", "cat <<END\ncp h $DIR/found\nEND", "echo 'cp h $DIR/found'"),
        *("# cp h $DIR/found\necho $A", "echo $A # cp h $DIR/found", "cat <<\\END\n$(cp h $DIR/found)\nEND"),
        *("cat <<-END\n\t$DIR/found\n\tEND", "echo 'a # b' $A", "IFS=$'\\n\\t'; A=x; cp h $A", "echo $((1)) > out"),
        *(
            "IFS=:; A=x:/t/y; cp h $A",
            "IFS=:; A=/t/x:y; cp h $A",
            'IFS=:; A=x; cp h "$A"',
            "cat <<END\n\\$(cp h /t/$A)\nEND",
        ),
    ],
)
def test_a_line_is_not_asked_about_if_its_words_become_other_paths(line: str) -> None:
    assert find_protected_in_line(line, "", RESOLVER) == ""
