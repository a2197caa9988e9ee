/**
 * Recognizes an error of the user's code that names an environment variable with an API key. Kernels do not get the
 * keys of model providers from the environment of the server, unless the user keeps them. Pure.
 *
 * This module knows no notebook: `error_bars.ts` shows what helps.
 */

/** The name of a variable that has the key of a provider. */
const KEY_VARIABLE = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_API_KEY\b/;

/**
 * Return the first variable with a key that an error names; undefined when no error names one. `messages` are the
 * messages of the errors in a cell, without their tracebacks: those quote lines of code, which may name any variable.
 */
export function findMissingKey(messages: readonly string[]): string | undefined {
  return messages.map(message => KEY_VARIABLE.exec(message)?.[0]).find(name => name !== undefined);
}

/** Return the line of the configuration that keeps a variable for kernels. */
export function createKeepingLine(variable: string): string {
  return `"keptVariables": ["${variable}"]`;
}
