/**
 * Compares open documents with the disk. A changed one is read again or, if it has unsaved changes, the user is asked.
 *
 * Knows no Lab and no view: documents, the disk and the question to the user come from outside (`reload.ts`).
 */

import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { Contents } from '@jupyterlab/services';

export type Context = Pick<
  DocumentRegistry.Context,
  'path' | 'isDisposed' | 'isReady' | 'contentsModel' | 'model' | 'revert' | 'saveState'
>;

export interface Surface {
  /** Return each open document once, however many views it has. */
  listDocuments(): readonly Context[];
  /** Return what is on disk, without its content. */
  readMetadata(path: string): Promise<Contents.IModel>;
  /** Ask about changes on disk and unsaved changes here. `reload` discards the unsaved ones. */
  reportConflict(path: string, reload: () => void): void;
  /** Read the document again and keep the cursor where it is. */
  reload(context: Context): Promise<void>;
}

/** File systems round times differently. Lab allows the same difference. */
const LENIENCE_MS = 500;

export class Refresher {
  private checking: Promise<void> | undefined;
  private again = false;
  private readonly followed = new WeakSet<Context>();
  private readonly saving = new WeakSet<Context>();
  /** The version on disk that the user was asked about. */
  private readonly reported = new WeakMap<Context, string>();

  constructor(private readonly surface: Surface) {}

  /** Check all documents. A call during a check makes it check once more afterwards. */
  check(): Promise<void> {
    this.again = true;
    this.checking ??= this.checkAll().finally(() => {
      this.checking = undefined;
    });
    return this.checking;
  }

  /** Follow the saves of each document from its opening: a save in progress is not a change made elsewhere. */
  follow(): void {
    for (const context of this.surface.listDocuments()) {
      if (!this.followed.has(context)) {
        this.followed.add(context);
        context.saveState.connect((_, state) => {
          if (state === 'started') {
            this.saving.add(context);
          } else {
            this.saving.delete(context);
          }
        });
      }
    }
  }

  private async checkAll(): Promise<void> {
    while (this.again) {
      this.again = false;
      this.follow();
      await Promise.all(this.surface.listDocuments().map(context => this.checkDocument(context)));
    }
  }

  private async checkDocument(context: Context): Promise<void> {
    if (!this.isSettled(context)) {
      return;
    }
    const disk = await this.surface.readMetadata(context.path).catch(() => undefined);
    // A file that was deleted or cannot be read stays open as it is: this may be its only copy.
    const known = context.contentsModel;
    if (disk === undefined || known === null || !this.isSettled(context) || isSameVersion(known, disk)) {
      return;
    }
    const version = disk.hash ?? disk.last_modified;
    if (!context.model.dirty) {
      await this.surface.reload(context);
    } else if (this.reported.get(context) !== version) {
      this.reported.set(context, version);
      this.surface.reportConflict(context.path, () => {
        if (!context.isDisposed) {
          void this.surface.reload(context);
        }
      });
    }
  }

  /** Whether a document can be compared now. A shared one is kept up to date by its own server. */
  private isSettled(context: Context): boolean {
    return !context.isDisposed && context.isReady && !context.model.collaborative && !this.saving.has(context);
  }
}

function isSameVersion(known: Omit<Contents.IModel, 'content'>, disk: Contents.IModel): boolean {
  if (known.path !== disk.path) {
    return true; // It was renamed meanwhile.
  }
  if (known.hash && disk.hash) {
    return known.hash === disk.hash;
  }
  return Date.parse(disk.last_modified) - Date.parse(known.last_modified) <= LENIENCE_MS;
}
