/**
 * Finds out whether the chat ends with the outline of a notebook that is not made yet. Pure.
 *
 * After `/notebook` and a description, the assistant shows an outline and stops (`host/commands/new_notebook.py`). The
 * user approves it or says what to change. Then the assistant makes the notebook, or shows another outline.
 */

import type { Blocks } from '../../chat/blocks';

/** Matches a message that asks for a new notebook. */
const COMMAND = /^\s*\/notebook\s+\S/i;
/** The tool that makes a notebook. */
const TOOL = 'notebook_create';

/**
 * Return whether the last answer is an outline: the user has asked for a notebook, no call has made it since then, and
 * the blocks end with a text of the assistant. The turn must have ended.
 */
export function endsWithOutline(blocks: Blocks): boolean {
  const start = blocks.findLastIndex(block => block.kind === 'user' && COMMAND.test(block.text));
  return (
    start >= 0 &&
    blocks.at(-1)?.kind === 'text' &&
    !blocks.slice(start).some(block => block.kind === 'tool' && block.name === TOOL)
  );
}
