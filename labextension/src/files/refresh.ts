/**
 * Documents that are open and have changed on disk: read again where nothing is unsaved, else the user is asked.
 *
 * Knows no user interface: documents, the disk and whoever tells the user come from outside.
 */

import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { Contents } from '@jupyterlab/services';

export type Context = Pick<
  DocumentRegistry.Context,
  'path' | 'isDisposed' | 'isReady' | 'contentsModel' | 'model' | 'revert' | 'saveState'
>;

export interface Surface {
  /** Each once, however many views it has. */
  listDocuments(): readonly Context[];
  /** What is on disk, without its content. */
  readMetadata(path: string): Promise<Contents.IModel>;
  /** There are changes on disk and unsaved ones here; `reload` gives up the latter. */
  reportConflict(path: string, reload: () => void): void;
  /** Reads it again, keeping the cursor where it is. */
  reload(context: Context): Promise<void>;
}

/** File systems tell times in different grains; Lab is as lenient. */
const LENIENCE_MS = 500;

export class Refresher {
  private checking: Promise<void> | undefined;
  private again = false;
  private readonly followed = new WeakSet<Context>();
  private readonly saving = new WeakSet<Context>();
  /** The version on disk that the user was told of. */
  private readonly reported = new WeakMap<Context, string>();

  constructor(private readonly surface: Surface) {}

  /** What comes while it looks makes it look once more. */
  check(): Promise<void> {
    this.again = true;
    this.checking ??= this.checkAll().finally(() => {
      this.checking = undefined;
    });
    return this.checking;
  }

  /** From when it is opened: a save that is under way is not a change of somebody else's. */
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
    // One that is gone, or cannot be read now, stays as it is here: that is all there is of it.
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

  /** A shared document has a server that looks after it. */
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
