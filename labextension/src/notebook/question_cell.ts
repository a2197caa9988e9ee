/**
 * Reads and changes the text of a cell that asks the assistant with `%eca` or `%%eca`. Pure.
 *
 * This module knows no notebook. When the cell is run, the kernel parses the options of `%%eca` by itself, in
 * `apps/kernel/options.py`.
 */

/** Matches `%eca` or `%%eca` at the beginning of a cell. */
const QUESTION = /^\s*%{1,2}eca\b/;
/** Finds in `%%eca -m anthropic/claude why?` the parts `%%eca`, ` -m ` and `anthropic/claude`. */
const MODEL = /^(\s*%{1,2}eca)([ \t]+-m[ \t]+)?(\S*)/;
/** Finds in `%%eca --agent codex why?` the parts `%%eca --agent ` and `codex`. The option is in the first line. */
const AGENT = /^(\s*%{1,2}eca\b.*?[ \t](?:--agent|-b)[ \t]+)(\S*)/;
/** Finds all text of the cell after `%%eca`: the options and the question, which may have several lines. */
const CELL_TEXT = /^\s*%%eca\b(?<text>[^]*)/;
/** Finds the text after the first `%eca` of the cell, to the end of that line: the options and the question. */
const LINE_TEXT = /^[ \t]*%eca\b(?<text>.*)/m;
/**
 * Matches the options before a question, which `apps/kernel/options.py` lists: `-n -m anthropic/claude --lock=a.json`.
 */
const OPTIONS = /^(?:[ \t]*(?:-n|--(?:re)?lock(?:=\S+)?|(?:-m|-b|-v|--agent)[ \t]+\S+)(?!\S))*/;
/** Matches `-> answer` at the end of the first line. */
const VARIABLE = /(?:^|[ \t])->[ \t]*\w+[ \t]*$/;
/** Matches a single word after `%eca`, which may be a command, as in `%eca doctor`. */
const COMMAND = /^[ \t]*[a-z-]+[ \t]*$/;

/** Return whether a cell asks the assistant. */
export function isQuestion(source: string): boolean {
  return QUESTION.test(source);
}

/**
 * Return the source of a cell that asks, with the option `-m` for the model, and the offsets where the name of the
 * model starts and ends. If the option is missing, it is added with an empty name: `%%eca why?` becomes `%%eca -m
 * why?`.
 */
export function ensureModelOption(source: string): { source: string; start: number; end: number } {
  const [, magic = '', option, name = ''] = MODEL.exec(source) ?? [];
  if (option !== undefined) {
    const start = magic.length + option.length;
    return { source, start, end: start + name.length };
  }
  const start = magic.length + ' -m '.length;
  return { source: `${magic} -m ${source.slice(magic.length)}`, start, end: start };
}

/**
 * Return the source of a cell that asks, with an option for the agent, and the offsets where the name of the agent
 * starts and ends. If the option is missing, it is added with an empty name.
 */
export function ensureAgentOption(source: string): { source: string; start: number; end: number } {
  const [, before, name = ''] = AGENT.exec(source) ?? [];
  if (before !== undefined) {
    return { source, start: before.length, end: before.length + name.length };
  }
  const [, magic = ''] = MODEL.exec(source) ?? [];
  const start = magic.length + ' --agent '.length;
  return { source: `${magic} --agent ${source.slice(magic.length)}`, start, end: start };
}

/**
 * Return the question of a cell without the magic and its options. It is empty when the cell has no question, or a word
 * that may be a command of the kernel.
 */
export function readQuestion(source: string): string {
  const cellText = CELL_TEXT.exec(source)?.groups?.text;
  const text = cellText ?? LINE_TEXT.exec(source)?.groups?.text ?? '';
  if (cellText === undefined && COMMAND.test(text)) {
    return '';
  }
  const [first = '', ...lines] = text.replace(OPTIONS, '').split('\n');
  return [first.replace(VARIABLE, ''), ...lines].join('\n').trim();
}
