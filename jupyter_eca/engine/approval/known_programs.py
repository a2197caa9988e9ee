"""What is known about programs by their names: which do many things, and which run whatever they are given.

It must not parse anything: `shell_parser` uses these names.
"""

from __future__ import annotations

import re
from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(name for line in text.split(",") if (name := " ".join(line.split())))


# `git log` is not `git push`: what these programs do depends on one more word, so the word is part of their key.
MANY: Final = _names("""
apt, apt-get, aws, aws s3, az, brew, bun, bun run, bundle, cargo, composer, conda, deno, deno task, docker,
docker compose, docker container, docker image, docker volume, dotnet, gcloud, gem, gh, gh api, gh issue, gh pr,
gh release, gh repo, gh run, git, git remote, git stash, git submodule, git worktree, go, go mod, hatch, hatch env,
heroku, jj, jupyter, kubectl, helm, mamba, npm, npm run, pdm, pip, pip3, pipx, pixi, pnpm, pnpm run, podman,
podman compose, poetry, poetry env, rustup, svn, systemctl, terraform, tox, uv, uv pip, uv tool, yarn, yarn run
""")

# Their arguments are programs. They have a key only for a module that is a tool of its own.
INTERPRETERS: Final = _names("python, python2, python3, python3.11, python3.12, python3.13, python3.14")
MODULES: Final = _names("black, build, flake8, isort, json.tool, mypy, pip, pylint, pyright, pytest, ruff, unittest")

# Run what they are given, here or elsewhere, now or later; change what the words after them mean; or are words of the
# shell's own grammar, which is not understood here.
WRAPPERS: Final = _names("""
alias, and, ash, at, awk, bash, batch, begin, builtin, bunx, busybox, case, chroot, chrt, cmd, command, coproc, csh,
dash, declare, do, doas, done, ed, elif, else, emacs, enable, end, entr, env, esac, eval, ex, exec, expect, export, fi,
fish, flock, for, foreach, function, gawk, gdb, hash, if, ionice, ipython, java, julia, ksh, let, local, ltrace, lua,
mapfile, mawk, nice, nix-shell, nocorrect, node, nodejs, noglob, nohup, not, npx, nsenter, octave, or, osascript,
parallel, perl, php, pkexec, pnpx, powershell, printf, pushd, pwsh, R, read, readarray, readonly, repeat, rlwrap,
Rscript, rsync, ruby, run-parts, runuser, scala, scp, screen, script, sed, select, set, setarch, setpriv, setsid, sh,
shopt, socat, source, ssh, stdbuf, strace, su, sudo, tar, taskset, tclsh, tcsh, then, time, timeout, tmux, torsocks,
trap, typeset, ulimit, unalias, unbuffer, unset, unshare, until, uvx, vi, view, vim, nvim, watch, while, xargs,
xvfb-run, zsh
""")

WRAPPING: Final = _names("""
bun exec, bun run exec, bun x, bundle exec, cargo run, composer exec, conda run, deno eval, deno run,
docker compose exec, docker compose run, docker container exec, docker container run, docker exec, docker run,
dotnet exec, git bisect,
git config, git difftool, git filter-branch, git mergetool, git rebase, git submodule foreach, gh alias, gh extension,
go generate, go run, go tool, hatch env run, hatch run, jj config, jj run, jupyter console, kubectl exec, kubectl run,
mamba run, npm config, npm exec, npm x, pdm run, pipx run, pixi exec, pixi run, pnpm dlx, pnpm exec,
podman compose exec, podman compose run, podman exec, podman run, poetry run,
svn propset, tox exec, uv run, uv tool run, yarn dlx, yarn exec
""")

# Arguments that make an ordinary program run another one, or delete what it finds.
RUNS_ANOTHER: Final = re.compile(
    r"-(?:exec|execdir|ok|okdir|delete|fprint.?|fls)"
    r"|--(?:exec|exec-batch|pre|upload-pack|receive-pack|open-files-in-pager|ext-diff|config|config-env|eval|rsh"
    r"|shell|to-command|checkpoint-action|use-compress-program|compress-program|output)(?:=.*)?",
    re.DOTALL,
)
