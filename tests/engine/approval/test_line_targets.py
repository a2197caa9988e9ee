"""Which lines of a shell are asked about because they may change what may run, and which ordinary ones are not."""

from __future__ import annotations

import time

import pytest

from jupyter_eca.engine.approval.line_targets import find_in_line
from jupyter_eca.engine.approval.path_resolver import PathResolver

RESOLVER = PathResolver(variables={"HOME": "/home/me", "PATH": "/bin", "TMPDIR": "/tmp", "LR": ""})  # noqa: S108

# What people and models write. None of these lines is asked about.
ORDINARY = (
    "echo $HOME",
    "ls ${X:-.}",
    "for f in *.py; do wc -l $f; done",
    'for f in *.py; do echo "== $f"; head -3 "$f"; done',
    'for f in data/*.csv; do cp "$f" "out/$(basename "$f")"; done',
    'for f in *.txt; do mv "$f" "${f%.txt}.md2"; done',
    "for i in 1 2 3; do echo $i > out_$i.txt; done",
    "mkdir -p ${OUT:-out} && touch ${OUT:-out}/x",
    "mkdir -p $HOME/data/$(date +%Y-%m-%d)",
    "tar czf backup-$(date +%Y%m%d_%H%M%S).tar.gz src",
    "make -j$(nproc)",
    "kill $(pgrep -f server.py)",
    'cd "$(git rev-parse --show-toplevel)" && pytest -q',
    "git commit -m \"$(cat <<'EOF'\nFix the loop :)\n\nIt doesn't end. Costs $5.\nEOF\n)\"",
    "git log --oneline $(git merge-base main HEAD)..HEAD",
    "awk '{ sum += $1 } END { print sum }' data.csv > sum.txt",
    "sed -i 's/foo$/bar/' src/a.py",
    "grep -rn 'def $name' src | head",
    'export PATH="$HOME/bin:$PATH"; make',
    'cat > run.sh <<\'EOF\'\n#!/bin/sh\ncp "$1" "$2"\nfor x in "$@"; do rm $x; done\nEOF\nchmod +x run.sh',
    "python3 - <<'EOF'\nimport os\nprint(f\"{os.environ['HOME']} costs $5\")\nEOF",
    "python -c 'import sys\nprint(\"$1\", sys.argv)\n' a",
    "find . -name '*.py' | xargs wc -l",
    "find . -name '*.pyc' -delete",
    "find . -type d -name __pycache__ -prune -exec rm -rf {} +",
    "find src -name '*.py' -exec sed -i 's/a/b/' {} +",
    "find . -name '*.py' -exec grep -l TODO {} +",
    "git ls-files | xargs grep -n TODO",
    "ls *.csv | xargs -n1 head -1",
    "X=5; Y=$((X * 2)); echo $Y > result.txt",
    "name=report; cp $name.md ${name}_v2.md",
    "DIR=build; rm -rf $DIR && mkdir $DIR",
    "if [ -f requirements.txt ]; then pip install -r requirements.txt; fi",
    'while read -r line; do echo "$line"; done < list.txt',
    'test -n "$VIRTUAL_ENV" && echo yes',
    "source .venv/bin/activate && python train.py --lr $LR",
    "time python train.py > log.txt 2>&1",
    "nohup python train.py > train.log 2>&1 & echo $!",
    'docker run --rm -v "$(pwd)":/w img ls',
    "curl -s https://x.org/a | jq '.items[] | .name'",
    "cat <<EOF > note.txt\nHome is $HOME, date $(date)\nEOF",
    "TMP=$(mktemp -d); cp a.txt $TMP/; ls $TMP",
    "diff <(sort a.txt) <(sort b.txt)",
    "for n in $(seq 3); do echo $n; done",
    "ps aux | grep python | awk '{print $2}'",
    "pip list 2>/dev/null | grep -i numpy || pip install numpy",
    'echo "a $((1+2)) b"; [ $? -eq 0 ] && echo ok',
    "git diff --stat HEAD~1 && git status",
    "(cd src && make)",
    "python -m pytest -q tests/test_a.py::test_x -k 'a or b'",
    "find . -path ./node_modules -prune -o -name '*.js' -print",
    "find . \\( -name '*.log' -o -name '*.tmp' \\) -delete",
    "rg -l foo | xargs head -2",
    "jupyter nbconvert --to script nb.ipynb",
    'f() { echo "$1"; }; f a',
    "for lr in 0.1 0.01; do python train.py --lr $lr --out run_$lr; done",
    "npm ci && npm run build",
    "git push origin $(git branch --show-current)",
    'URL=https://x.org/a.zip; curl -sLo a.zip "$URL" && unzip -o a.zip',
    'jq ".version" package.json > v.txt',
    "sort a.txt | uniq -c | sort -rn | head -5 > top.txt",
    'while IFS=, read -r a b; do echo "$a $b"; done < a.csv',
    "python - \"$HOME\" <<'PY'\nprint(1)\nPY",
    "ls -la *.ipynb && head -c 300 a.ipynb",
    "sed -n '1,5p' a.txt; sed -i.bak 's|/old/|/new/|' a.cfg",
    "time awk '{ s += $1 } END { print s }' a.csv",
    "nohup sh -c 'sleep 1; echo done' > log.txt &",
    "bash -c 'for f in *.txt; do wc -l $f; done'",
    "cd $(dirname $0) && make && ls -la",
    'for f in *.ipynb; do jupyter nbconvert --to script "$f"; done',
    "case $1 in a) echo b;; esac",
    "sudo apt-get install -y graphviz 2>&1 | tail -3",
    "bash run.sh $HOME/data",
)

# Each of these lines writes into `.eca`, or into a folder that is not known before it runs.
HIDDEN = (
    "cd $(printf .e)ca; cp ../h config.json",
    "cd ${X:-.e}ca && echo x > config.json",
    "git -C $(printf .g)it mv a b",
    'pushd "$(cat l)"; touch config.json',
    "echo \\ # ; cp h $(printf .e)ca/x",
    "echo `echo #` ; cp h $(printf .e)ca/x",
    'echo "$(case x in x) cp h $(printf .e)ca/x;; esac)"',
    'echo "$(echo ${X:-)}; cp h $(printf .e)ca/x)"',
    'echo "${X:-\'}"; cp h $(printf .e)ca/x; echo "\'"',
    "echo $(( $(cp h $X) ))",
    "bash <<< 'cp h $(printf .e)ca/x'",
    "echo 'cp h $(printf .e)ca/x' | sh",
    "sh -c 'cat<h>${X:-.e}ca/x'",
    "bash -s x <<'EOF'\ncp h $(printf .e)ca/x\nEOF",
    "((1))#'\ncp h $(printf .e)ca/x\n#'",
    "env -u A xargs cp h",
    "fd -H json -x cp h {}",
    "find . -type f -fprint ${X:-.e}ca/x",
    "cp harmless ${X:-.e}ca/config.json",
    "cp harmless $'.\\145ca/config.json'",
    "X=(.e); cp harmless ${X}ca/config.json",
    "set -- .e; cp harmless $1ca/config.json",
    "find . -name config.json -exec cp harmless {} +",
    "find . -path './.?ca/*' -delete",
    "find . -name '*.json' -delete",
    "read X <<< .e; cp harmless ${X}ca/config.json",
    "printf -v X .e; cp harmless ${X}ca/config.json",
    "cp harmless $(printf .e)ca/config.json",
    "cp harmless `printf .e`ca/config.json",
    'cp harmless "$(printf .e)ca/config.json"',
    "X=$(printf .e); cp harmless ${X}ca/config.json",
    "echo x > $(printf .e)ca/config.json",
    "X=x.e; cp harmless ${X#x}ca/config.json",
    "X=.Zca; cp harmless ${X/Z/e}/config.json",
    "X=.ecaX; cp harmless ${X:0:4}/config.json",
    "Y=.e; X=Y; cp harmless ${!X}ca/config.json",
    "X=.; X+=e; cp harmless ${X}ca/config.json",
    "f() { cp harmless $1ca/config.json; }; f .e",
    "echo .e; cp harmless ${_}ca/config.json",
    "declare -n X=Y; Y=.e; cp harmless ${X}ca/config.json",
    "read HOME <<< .e; cp harmless ${HOME}ca/config.json",
    "eval 'HOME=.e; Z=1'; cp harmless ${HOME}ca/config.json",
    "sudo cp harmless $(printf .e)ca/config.json",
    "env A=1 cp harmless ${X:-.e}ca/config.json",
    "bash -c 'cp harmless ${X:-.e}ca/config.json'",
    "sh -c 'cp harmless $(printf .e)ca/x'",
    "bash <<'EOF'\ncp harmless $(printf .e)ca/x\nEOF",
    "bash <<EOF\ncp harmless \\$(printf .e)ca/x\nEOF",
    "echo `echo \\`cp harmless $(printf .e)ca/x\\``",
    "cat <<EOF\n$(cp harmless $(printf .e)ca/x)\nEOF",
    "# don't\ncp harmless $(printf .e)ca/x #'",
    'echo "<<EOF"\ncp harmless $(printf .e)ca/x\nEOF',
    "echo $((cp harmless $(printf .e)ca/x); true)",
    "((1<<EOF))\ncp harmless $(printf .e)ca/x\nEOF",
    "echo 'it'\"'\"'s'; cp harmless $(printf .e)ca/x #'",
    "echo $'it\\'s'; cp harmless $(printf .e)ca/x #'",
    "for x in 1 2; do cp harmless ${X}ca/x; X=.e; done",
    "[[ .eX =~ (.e) ]]; cp harmless ${BASH_REMATCH[1]}ca/x",
    "ls -a | xargs -I{} cp harmless {}/config.json",
    "grep -rl ask . | xargs sed -i s/ask/allow/",
    "find . -not -name '*.pyc' -delete",
    "find . -name '*.pyc' -o -type f -delete",
    "find . -type f -exec sh -c 'cp harmless $1' _ {} \\;",
    "date() { printf .e; }; cp harmless $(date)ca/x",
    "TZ=.e; mkdir $(TZ=.e date +%Z)ca",
    "cp harmless .$(date +ec)a/x",
    "cp h $(basename .ecaX X)/config.json",
    "for x in x.e; do cp h ${x#x}ca/x; done",
    "A=.e; A=${A}ca; cp h $A/x",
    "tee ${X-.e}ca/x < h",
    "if true; then cp h ${X:=.e}ca/x; fi",
    "while read d; do cp h $d/config.json; done < list",
    "cat list | while read d; do cp h > $d; done",
    "mapfile -t X < list; cp h ${X[0]}",
    "dd of=${X:-.e}ca/x",
    "cp h $(\nprintf .e\n)ca/x",
    'cp h "${X:-".e"}ca/x"',
    "cp h ${X:-$(printf .e)}ca/x",
    "cp h ${X:+a}${Y:-.e}ca/x",
    "X=.e bash -c 'cp h ${X}ca/x'",
    "export X=.e; bash -c 'cp h ${X}ca/x'",
    "IFS=Z; X=aZ.eca; cp h $X",
)


@pytest.mark.parametrize("line", ORDINARY)
def test_an_ordinary_line_changes_nothing_that_may_run(line: str) -> None:
    assert find_in_line(line, "", RESOLVER) == ""


@pytest.mark.parametrize("line", HIDDEN)
def test_a_word_that_is_not_known_before_the_line_runs_may_be_a_protected_path(line: str) -> None:
    assert find_in_line(line, "", RESOLVER)


@pytest.mark.parametrize(
    "piece", ["<<a\n", "find ", "sh ", "-exec sh ", "sh -c 'a b' ", "$(", "${", "`", "a=$a$a;", "$((", "'", "$(x) "]
)
def test_long_lines_take_no_time(piece: str) -> None:
    begun = time.monotonic()
    find_in_line(f"echo $y; {piece * (10_000 // len(piece))}", "", RESOLVER)
    assert time.monotonic() - begun < 5
