/**
 * Opens the files in which the user's settings of the assistant are written, in Lab's editor: configuration files, and
 * the Markdown files of agents and skills.
 *
 * Most of these files are hidden or lie outside of the folder of the Jupyter server, so Lab's own file service does not
 * show them. This module adds a drive to Lab: a second file service, whose files are read and saved by the assistant's
 * server. The server opens no other files in this way.
 */

import type { IDocumentManager } from '@jupyterlab/docmanager';
import { Contents, Drive, ServerConnection } from '@jupyterlab/services';

import type { Session } from '../chat/session';
import { baseName } from '../render/format';
import type { OwnFilesOpener } from '../view/common/env';

/** The name of the drive. A path of Lab begins with it: `assistant:.eca/config.json`. */
const DRIVE = 'assistant';
/** The name of Lab's plain editor. Other views of Lab may show such a file without letting the user change it. */
const EDITOR = 'Editor';

/** Opens the files, and reports when one of them was saved. */
export class OwnFiles implements OwnFilesOpener {
  private readonly drive: OwnFilesDrive;
  /** Called whenever a file was saved. */
  private readonly subscribers = new Set<() => void>();

  constructor(
    private readonly documentManager: IDocumentManager,
    session: Session
  ) {
    this.drive = new OwnFilesDrive(session, documentManager.services.serverSettings, () => {
      this.subscribers.forEach(subscriber => {
        subscriber();
      });
    });
    documentManager.services.contents.addDrive(this.drive);
  }

  /** Open a file by the name that the server uses for it. */
  open(file: string): void {
    this.documentManager.openOrReveal(`${DRIVE}:${this.drive.addFile(file)}`, EDITOR);
  }

  /** Call `subscriber` whenever a file was saved. The returned function ends that. */
  readonly subscribe = (subscriber: () => void): (() => void) => {
    this.subscribers.add(subscriber);
    return () => {
      this.subscribers.delete(subscriber);
    };
  };
}

/** A drive with the user's files. They can be opened and saved, and nothing else. */
class OwnFilesDrive extends Drive {
  /** The server's names of the files, by their paths in this drive. */
  private readonly names = new Map<string, string>();
  /**
   * The digests of the contents that the editors have read or saved last, by the paths. The server saves a file only if
   * the file on disk still has this digest.
   */
  private readonly digests = new Map<string, string>();

  /** `onSaved` is called when a file was saved. */
  constructor(
    private readonly session: Session,
    serverSettings: ServerConnection.ISettings,
    private readonly onSaved: () => void
  ) {
    super({ name: DRIVE, serverSettings });
  }

  /** Add a file, and return its path. Lab removes a slash at the beginning of a path, so the path has none. */
  addFile(name: string): string {
    const path = name.replace(/^\/+/, '');
    this.names.set(path, name);
    return path;
  }

  override async get(localPath: string, options?: Contents.IFetchOptions): Promise<Contents.IModel> {
    const { text, digest } = await this.session.request('ownFiles/read', { file: this.findName(localPath) });
    this.digests.set(localPath, digest);
    return describeFile(localPath, digest, options?.content === false ? null : text);
  }

  override async save(localPath: string, { content }: Partial<Contents.IModel> = {}): Promise<Contents.IModel> {
    const { digest } = await this.session.request('ownFiles/write', {
      file: this.findName(localPath),
      digest: this.digests.get(localPath) ?? '',
      text: String(content)
    });
    this.digests.set(localPath, digest);
    this.onSaved();
    return describeFile(localPath, digest, null);
  }

  // Lab creates a checkpoint when it saves a file. This drive keeps none.
  override createCheckpoint(): Promise<Contents.ICheckpointModel> {
    return Promise.resolve({ id: 'none', last_modified: new Date(0).toISOString() });
  }

  override listCheckpoints(): Promise<Contents.ICheckpointModel[]> {
    return Promise.resolve([]);
  }

  override restoreCheckpoint = refuse;
  override deleteCheckpoint = refuse;
  override newUntitled = refuse;
  override delete = refuse;
  override rename = refuse;
  override copy = refuse;
  override getDownloadUrl = refuse;

  /** Return the server's name of the file at a path. */
  private findName(localPath: string): string {
    return this.names.get(localPath) ?? localPath;
  }
}

/** Refuse an action that this drive does not have, such as to rename a file. */
function refuse(): Promise<never> {
  return Promise.reject(new Error('This file can only be opened and saved here.'));
}

/** Return a file as Lab describes it; `content` is null where it is not asked for. */
function describeFile(path: string, digest: string, content: string | null): Contents.IModel {
  const time = new Date(0).toISOString();
  return {
    name: baseName(path),
    path,
    type: 'file',
    mimetype: 'text/plain',
    format: content === null ? null : 'text',
    content,
    writable: true,
    // Lab compares the digest before it saves. So the times need not be known.
    created: time,
    last_modified: time,
    hash: digest,
    hash_algorithm: 'sha256'
  };
}
