/**
 * Attaches files to a message: files of the server that the user chooses in Lab's dialog, and files of the user's
 * computer, which are uploaded first.
 *
 * This module knows no view: the button is `view/composer/Attach.tsx`.
 */

import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import type { ITranslator } from '@jupyterlab/translation';

import { ChatContext } from '../wire/protocol';
import { Attachments } from '../view/common/env';

/** Attaches files that the Jupyter server can read. Each method returns the contexts to add to the message. */
export class ServerAttachments implements Attachments {
  constructor(
    private readonly manager: IDocumentManager,
    private readonly tracker: INotebookTracker,
    private readonly translator: ITranslator
  ) {}

  /** Let the user choose files of the server. If the user cancels, the list is empty. */
  async choose(): Promise<readonly ChatContext[]> {
    const { FileDialog } = await import('@jupyterlab/filebrowser');
    const { button, value } = await FileDialog.getOpenFiles({
      manager: this.manager,
      translator: this.translator,
      title: this.translator.load('jupyter_eca').__('Attach files'),
      defaultPath: this.findFolder()
    });
    return button.accept ? (value ?? []).map(model => this.toContext(model)) : [];
  }

  /** Upload files into the folder of the active notebook. Lab asks before it replaces a file. */
  async upload(files: readonly File[]): Promise<readonly ChatContext[]> {
    const { FileBrowserModel } = await import('@jupyterlab/filebrowser');
    // `auto: false`, because Lab need not list the root folder first, and keep the list up to date.
    const folder = new FileBrowserModel({ manager: this.manager, translator: this.translator, auto: false });
    try {
      await folder.cd(`/${this.findFolder()}`);
      const contexts: ChatContext[] = [];
      for (const file of files) {
        contexts.push(this.toContext(await folder.upload(file)));
      }
      return contexts;
    } finally {
      folder.dispose();
    }
  }

  /** Attach the files and folders at these paths, which the user has dragged from Lab's file browser. */
  async attachPaths(paths: readonly string[]): Promise<readonly ChatContext[]> {
    const { contents } = this.manager.services;
    const models = await Promise.all(paths.map(path => contents.get(path, { content: false })));
    return models.map(model => this.toContext(model));
  }

  /** Return the folder of the active notebook; empty, which means the root, when there is none. */
  private findFolder(): string {
    const path = this.tracker.currentWidget?.context.path ?? '';
    return path.slice(0, Math.max(0, path.lastIndexOf('/')));
  }

  /** Return the context for a file or a folder. The root folder has an empty path in Lab, and the path `.` in ECA. */
  private toContext({ path, type }: Contents.IModel): ChatContext {
    // Lab can put the name of a drive before a path. The assistant's server does not know drives.
    const local = this.manager.services.contents.localPath(path);
    return type === 'directory' ? { type: 'directory', path: local || '.' } : { type: 'file', path: local };
  }
}
