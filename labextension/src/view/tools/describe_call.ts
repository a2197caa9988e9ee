/**
 * Writes one line that says what a waiting tool call will do. Pure.
 *
 * The line is made from the details of the call, which the card shows below it and which say exactly what runs. For a
 * call without details, the line is the summary that the server wrote. The user approves the call by this line, so
 * `toExactText` shows what would be hidden in a text that others wrote.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import { ToolBlock } from '../../chat/blocks';
import type { FindCell } from '../../chat/pasted_cells';
import { replaceCellIds, toExactText } from '../../render/format';
import { findCellNumber } from '../../render/unified_diff';
import { RunCellsDetails } from '../../wire/protocol';

/** The functions that find the cells and kernels of the open notebooks. */
export interface OpenNotebooks {
  readonly findCell: FindCell;
  /** Returns the name of the kernel of an open notebook, as Lab shows it. */
  readonly findKernel: (path: string) => string | undefined;
}

/** Return the line for a call that waits. */
export function describeCall(block: ToolBlock, notebooks: OpenNotebooks, trans: TranslationBundle): string {
  const { details, arguments: args = {}, name, origin, server, summary } = block;
  /** Return the number of lines of a text in words, for example `3 lines`. */
  const describeLineCount = (text: string): string => {
    const count = text.split('\n').length;
    return trans._n('%1 line', '%1 lines', count);
  };
  switch (details?.type) {
    case 'runCells':
      return describeCells(
        details,
        notebooks,
        trans,
        describeLineCount(details.cells.map(({ source }) => source).join('\n'))
      );
    case 'shellCommand': {
      const { parsed = [] } = details;
      return parsed.length > 1 ? trans.__('Run %1 commands', parsed.length) : trans.__('Run a command');
    }
    case 'fileChange':
      if (!details.path.endsWith('.ipynb')) {
        const { path, linesAdded, linesRemoved } = details;
        return trans.__('Change %1 (+%2 −%3)', toExactText(path), linesAdded, linesRemoved);
      }
      // The call also runs cells of the notebook, so the line names the kernel.
      if ((details.runs ?? []).length > 0) {
        const line = toExactText(summary ?? name);
        const kernel = notebooks.findKernel(details.path) ?? '';
        return kernel === '' ? line : trans.__('%1 in %2', line, toExactText(kernel));
      }
    // For any other change of a notebook, the line is the summary, as for other calls: see after the `switch`.
  }
  if (origin === 'native' && name === 'run_code' && typeof args.code === 'string') {
    return trans.__('Run code (%1)', describeLineCount(args.code));
  }
  const line = summarizeCall(block, notebooks.findCell);
  // An MCP server may give its tool any name, so the line always names the server.
  return origin === 'mcp' ? trans.__('%1, on the MCP server %2', line, toExactText(server)) : line;
}

/**
 * Return the summary of a call, in which cells have their numbers: those of the notebook if it is open in this page, or
 * else those of the diff.
 */
export function summarizeCall({ summary, name, arguments: args = {}, details }: ToolBlock, findCell: FindCell): string {
  const findNumber = (id: string): { readonly number: number } | undefined => {
    const number = details?.type === 'fileChange' ? findCellNumber(details.diff, id) : undefined;
    return findCell(id) ?? (number === undefined ? undefined : { number });
  };
  return toExactText(replaceCellIds(summary ?? name, args, findNumber));
}

/** Return the line for a call that runs cells. `lines` is their number of lines in words, for example `3 lines`. */
function describeCells(
  { cells, path }: RunCellsDetails,
  { findKernel }: OpenNotebooks,
  trans: TranslationBundle,
  lines: string
): string {
  const numbers = cells.map(({ number }) => number).join(', ');
  const kernel = findKernel(path);
  if (kernel === undefined || kernel === '') {
    return cells.length === 1
      ? trans.__('Run cell %1 (%2)', numbers, lines)
      : trans.__('Run cells %1 (%2)', numbers, lines);
  }
  return cells.length === 1
    ? trans.__('Run cell %1 (%2) in %3', numbers, lines, toExactText(kernel))
    : trans.__('Run cells %1 (%2) in %3', numbers, lines, toExactText(kernel));
}
