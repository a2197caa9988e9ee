/**
 * Loads the extension `jupyter_eca` in a kernel, so that `%eca` and `%%eca` are known there.
 *
 * This module knows no notebook and no texts: `errors/error_bars.ts` shows the result.
 */

import type { Kernel, KernelMessage } from '@jupyterlab/services';

/** The line that makes `%eca` and `%%eca` known to the kernel. */
export const LOAD_LINE = '%load_ext jupyter_eca';
/** The line that installs the package into the environment of the kernel that runs it. */
export const INSTALL_LINE = '%pip install jupyter-eca';
/**
 * A Python expression that is true in a kernel that knows the magics. It is needed because `%load_ext` does not fail if
 * it loads another module with the name of the extension.
 */
const IS_LOADED = "get_ipython().find_line_magic('eca') is not None";

/**
 * How the loading ended. `missing`: the environment of the kernel lacks the package, or something that the package
 * needs. `failed`: another error, which `error` shows. `cancelled`: the kernel did not run the line.
 */
export type LoadResult =
  { readonly kind: 'loaded' | 'missing' | 'cancelled' } | { readonly kind: 'failed'; readonly error: string };

/** Load the extension. The line is not added to the history of the kernel, and does not count as the run of a cell. */
export async function loadExtension(kernel: Kernel.IKernelConnection): Promise<LoadResult> {
  // Cells that wait behind the line run also when it fails: the user started them before the click.
  const request = {
    code: LOAD_LINE,
    user_expressions: { loaded: IS_LOADED },
    store_history: false,
    stop_on_error: false,
    allow_stdin: false
  };
  try {
    return readReply((await kernel.requestExecute(request).done).content);
  } catch {
    // Lab cancels the request when the kernel dies or is restarted.
    return { kind: 'cancelled' };
  }
}

/** Return the result of the loading, from the kernel's reply to `LOAD_LINE`. */
export function readReply(content: KernelMessage.IExecuteReplyMsg['content']): LoadResult {
  switch (content.status) {
    case 'ok':
      return { kind: isTrue(content.user_expressions.loaded) ? 'loaded' : 'missing' };
    case 'error':
      return content.ename === 'ModuleNotFoundError'
        ? { kind: 'missing' }
        : { kind: 'failed', error: `${content.ename}: ${content.evalue}` };
    default:
      return { kind: 'cancelled' };
  }
}

/** Whether the kernel evaluated an expression to `True`. */
function isTrue(result: unknown): boolean {
  return (result as { data?: Record<string, unknown> } | undefined)?.data?.['text/plain'] === 'True';
}
