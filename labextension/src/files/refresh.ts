/**
 * Compares open documents with the disk. A document that has changed on disk is read again. If it also has unsaved
 * changes, the user is asked first.
 *
 * This module knows no Lab and no view: `reload.ts` provides the documents, the disk and the question to the user.
 */

import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { Contents } from '@jupyterlab/services';

/** The parts of Lab's context of a document that are used here. */
export type DocumentContext = Pick<
  DocumentRegistry.Context,
  'path' | 'isDisposed' | 'isReady' | 'contentsModel' | 'model' | 'revert' | 'saveState'
>;

/** Gives the `Refresher` access to the open documents of Lab. `reload.ts` implements it. */
export interface LabDocuments {
  /** Return each open document once, however many views it has. */
  listDocuments(): readonly DocumentContext[];
  /** Return the metadata of the file on disk: Jupyter's contents model, without the content. */
  readMetadata(path: string): Promise<Contents.IModel>;
  /**
   * Ask the user about a document that has changed on disk and has unsaved changes. `reload` discards the unsaved ones.
   */
  reportConflict(path: string, reload: () => void): void;
  /** Read the document again and keep the cursor where it is. */
  reload(context: DocumentContext): Promise<void>;
}

/**
 * Two times count as equal if they differ by less than this, in milliseconds, because file systems round times
 * differently. Lab allows the same difference.
 */
const TOLERANCE_MS = 500;

/** Checks all open documents whenever `check` is called. */
export class Refresher {
  /** The check that is running; undefined when none is. */
  private checking: Promise<void> | undefined;
  /** Whether the documents must be checked once more after the running check. */
  private isCheckDue = false;
  /** The documents whose saves are already followed. */
  private readonly followed = new WeakSet<DocumentContext>();
  /** The documents that are being saved. */
  private readonly saving = new WeakSet<DocumentContext>();
  /** The version on disk about which the user was asked, for each document. It is a hash or a time. */
  private readonly reportedVersions = new WeakMap<DocumentContext, string>();

  constructor(private readonly lab: LabDocuments) {}

  /** Check all documents. A call during a check lets the documents be checked once more after it. */
  check(): Promise<void> {
    this.isCheckDue = true;
    this.checking ??= this.checkAll().finally(() => {
      this.checking = undefined;
    });
    return this.checking;
  }

  /** Follow the saves of all open documents, because a save in progress must not look like a change made elsewhere. */
  follow(): void {
    for (const context of this.lab.listDocuments()) {
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

  /** Check all documents, again and again until no further check is due. */
  private async checkAll(): Promise<void> {
    while (this.isCheckDue) {
      this.isCheckDue = false;
      this.follow();
      await Promise.all(this.lab.listDocuments().map(context => this.checkDocument(context)));
    }
  }

  /** Compare a document with the disk. If the file has changed, read it again or ask the user. */
  private async checkDocument(context: DocumentContext): Promise<void> {
    if (!this.canCompare(context)) {
      return;
    }
    const disk = await this.lab.readMetadata(context.path).catch(() => undefined);
    // If the file was deleted or cannot be read, the document stays as it is: it may be the only copy.
    const known = context.contentsModel;
    if (disk === undefined || known === null || !this.canCompare(context) || isSameVersion(known, disk)) {
      return;
    }
    const version = disk.hash ?? disk.last_modified;
    if (!context.model.dirty) {
      await this.lab.reload(context);
    } else if (this.reportedVersions.get(context) !== version) {
      this.reportedVersions.set(context, version);
      this.lab.reportConflict(context.path, () => {
        if (!context.isDisposed) {
          void this.lab.reload(context);
        }
      });
    }
  }

  /**
   * Whether a document can be compared now. A document that users edit together is never compared, because Jupyter's
   * collaboration server keeps it up to date.
   */
  private canCompare(context: DocumentContext): boolean {
    return !context.isDisposed && context.isReady && !context.model.collaborative && !this.saving.has(context);
  }
}

/** Whether the file on disk is the one that Lab has read or saved last (`known`). */
function isSameVersion(known: Omit<Contents.IModel, 'content'>, disk: Contents.IModel): boolean {
  if (known.path !== disk.path) {
    return true; // The file was renamed meanwhile.
  }
  if (known.hash && disk.hash) {
    return known.hash === disk.hash;
  }
  // Some servers provide no hashes.
  return Date.parse(disk.last_modified) - Date.parse(known.last_modified) <= TOLERANCE_MS;
}
