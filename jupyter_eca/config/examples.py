"""Owns the examples of the configuration reference, by the path of their section. A test parses each example.

It must not contain any code. `reference` is its neighbour: it prints the examples.
"""

from __future__ import annotations

from typing import Final

# The path of the keys at the top level is "".
EXAMPLES: Final = {
    "": """{
  // Read again when it changes. Comments and trailing commas are fine.
  "defaultModel": "anthropic/claude-sonnet-5-5",
  "providers": {"anthropic": {"key": "${env:MY_KEY}"}},
  "mcpServers": {"docs": {"command": "uvx", "args": ["some-docs-server"]}},
  "budget": {"perDay": 5},
}""",
    "providers.NAME": """{
  "providers": {
    // Any server that speaks one of OpenAI's APIs.
    "house": {
      "api": "openai-chat",
      "url": "https://models.example.org/v1",
      "key": "${netrc:models.example.org}",
      "retry": 3,
      "retryRules": [{"status": 403, "errorPattern": "waking up", "label": "The model is being loaded"}],
      "models": {
        "small": null,
        "large": {
          "modelName": "large-2026-10",
          "cost": {"input": 1.5, "output": 6},
          "limit": {"context": 128000, "output": 8000},
          "variants": {"deep": {"reasoning_effort": "high"}},
        },
      },
    },
    // Models without any server: a file in this process, and a script for tours and tests.
    "local": {"models": {"mine": {"path": "models/mine.gguf"}}},
    "scripted": {"models": {"tour": {"script": "tour.json"}}},
  },
}""",
    "agent.NAME": """{
  "agent": {
    "reviewer": {"inherit": "plan", "prompt": "You review notebooks.", "maxSteps": 20},
    "tester": {
      "mode": "subagent",
      "description": "Runs the tests and tells what failed.",
      "spawnableBy": "code",
      "toolCall": {"approval": {"allow": {"shell_command": {"argsMatchers": {"command": ["pytest( [\\\\w/.-]+)*"]}}}}},
    },
  },
}""",
    "toolCall.approval": """{
  "toolCall": {
    "approval": {
      "allow": {"write_file": {"argsMatchers": {"path": ["notes/.*"]}}, "docs": {}},
      "ask": {"docs__publish": {}},
      "deny": {"move_file": {}},
    },
    "outputTruncation": {"lines": 500},
  },
}""",
    "variantsByModel.PATTERN": """{
  "variantsByModel": {
    "^large": {"variants": {"deep": {"reasoning_effort": "high"}, "fast": {}}, "excludeProviders": ["house"]},
  },
}""",
    "customTools.NAME": """{
  "customTools": {
    "row_count": {
      "description": "Counts the rows of a table of the warehouse.",
      "command": "warehouse count {{table}}",
      "schema": {
        "properties": {"table": {"type": "string", "description": "its full name"}},
        "required": ["table"],
      },
    },
  },
}""",
    "hooks.NAME": """{
  "hooks": {
    "no-prod": {
      "type": "preToolCall",
      "matcher": {"shell_command": {"argsMatchers": {"command": [".*prod.*"]}}},
      "actions": [{"type": "shell", "shell": "echo 'Not on production.' >&2; exit 2"}],
    },
  },
}""",
    "budget": """{
  "budget": {"perChat": 1, "perNotebook": 2, "perDay": 5},
}""",
    "mcpServers.NAME": """{
  "mcpServers": {
    "docs": {"command": "uvx", "args": ["some-docs-server"], "env": {"DOCS_TOKEN": "${env:DOCS_TOKEN}"}},
    "tickets": {"url": "https://tickets.example.org/mcp", "disabled": true},
  },
  "mcpSampling": {"approval": "deny"},
}""",
    "notebook": """{
  "notebook": {"variables": {"table": "schema", "value": "names"}, "lock": true},
}""",
}
