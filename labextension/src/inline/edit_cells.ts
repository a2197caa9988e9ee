/**
 * Lets the assistant rewrite a cell by an instruction of the user: it opens a box in the cell, sends the instruction to
 * the server, and passes the answer to the box. The answer is shown as hunks, which are groups of changed lines. The
 * user approves or rejects them.
 *
 * The box itself is in `edit_box.ts`. The modules in `review/` draw the hunks.
 */

import { Cell, MarkdownCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import { UUID } from '@lumino/coreutils';

import { insertBar } from '../review/cell_bar';
import { CellDiff } from '../review/cell_diff';
import { EditBox } from './edit_box';
import { HunkPainter } from '../review/hunk_painter';
import { HunkStyle } from '../review/hunk_view';
import { LiveNotebooks } from '../notebook/live_notebooks';
import { Range, RewriteContentReceivedParams, RewritePromptParams } from '../wire/protocol';
import { Session } from '../chat/session';
import { describeError } from '../view/common/error_text';

/** Opens the boxes, at most one for each cell, and sends their requests. */
export class CellRewriter {
  /** The open boxes, by their cells. */
  private readonly boxes = new Map<Cell, EditBox>();
  /** The boxes of running rewrites, by the ids of the rewrites. */
  private readonly boxesByRewrite = new Map<string, EditBox>();

  constructor(
    private readonly session: Session,
    private readonly notebooks: LiveNotebooks,
    private readonly painter: HunkPainter,
    private readonly trans: TranslationBundle,
    /** Resolves when the first attempt to connect has ended. */
    private readonly waitForConnection: () => Promise<void>
  ) {
    // The session passes everything that the server sends about cells to its notebook host, also the answers to
    // rewrites.
    notebooks.receiveRewrite = params => {
      this.receive(params);
    };
    session.subscribe(() => {
      if (session.state.connection !== 'open') {
        this.failAll();
      }
    });
  }

  /** Open a box in the active cell. If there is one already, it gets the focus. */
  async open(panel: NotebookPanel): Promise<void> {
    const cell = panel.content.activeCell;
    if (cell === null) {
      return;
    }
    const { context } = panel;
    if (context.model.readOnly || cell.model.getMetadata('editable') === false) {
      this.session.showMessage('warning', this.trans.__('This cell cannot be edited.'));
      return;
    }
    await cell.ready;
    cell.inputHidden = false;
    if (cell instanceof MarkdownCell) {
      cell.rendered = false;
    }
    const box = this.boxes.get(cell) ?? this.createBox(panel, cell);
    if (!box.isAttached) {
      insertBar(cell, box, 'within'); // in this cell, before its input
    }
    box.focus();
  }

  /** Create the box of a cell, with the functions that its buttons call. */
  private createBox(panel: NotebookPanel, cell: Cell): EditBox {
    const { sharedModel } = cell.model;
    const diff = new CellDiff(sharedModel, 'proposed', source => {
      this.notebooks.writeSource(sharedModel, source);
    });
    // The last rewrite that was sent from this box; empty until then.
    let rewriteId = '';
    // While the model writes, hunks have no buttons, because they still change.
    const withoutButtons = createStyle(this.trans, []);
    const withButtons = createStyle(this.trans, this.listButtons(panel, diff));
    const box = new EditBox(diff, this.trans, {
      send: instruction => {
        rewriteId = this.beginRewrite(panel, cell, box, instruction);
      },
      stop: () => {
        this.boxesByRewrite.delete(rewriteId);
        // The server may have ended the rewrite in the meantime.
        this.session.request('rewrite/stop', { id: rewriteId }).catch(() => undefined);
      },
      close: () => {
        this.boxes.delete(cell);
        this.painter.clear(cell, 'edit');
        box.dispose();
        panel.content.activate();
      }
    });
    diff.subscribers.add(() => {
      this.painter.paint(cell, 'edit', diff.hunks, box.isWriting ? withoutButtons : withButtons);
    });
    this.boxes.set(cell, box);
    cell.disposed.connect(() => {
      this.boxesByRewrite.delete(rewriteId);
      this.boxes.delete(cell);
      box.dispose();
    });
    return box;
  }

  /** Return the buttons of a single hunk. */
  private listButtons(panel: NotebookPanel, diff: CellDiff): HunkStyle['buttons'] {
    const { trans } = this;
    return [
      {
        label: trans.__('Approve'),
        act: id => {
          panel.content.activate();
          diff.apply(id);
        }
      },
      {
        label: trans.__('Reject'),
        act: id => {
          panel.content.activate();
          diff.drop(id);
        }
      }
    ];
  }

  /**
   * Begin to rewrite the selected lines or, without a selection, the whole cell. Return the id of the rewrite.
   */
  private beginRewrite(panel: NotebookPanel, cell: Cell, box: EditBox, prompt: string): string {
    const id = UUID.uuid4();
    const source = cell.model.sharedModel.getSource();
    const lines = readSelectedLines(cell, source);
    const text = source.slice(lines.from, lines.to);
    box.begin(source, lines.from, lines.to);
    const { range } = lines;
    const { localPath: path } = panel.context;
    void this.requestWhenConnected(box, { id, text, prompt, path, ...(range && { range }) });
    return id;
  }

  /** Wait for the connection, and then request the rewrite from the server. An error is shown in the box. */
  private async requestWhenConnected(box: EditBox, params: RewritePromptParams): Promise<void> {
    const id = String(params.id);
    await this.waitForConnection();
    if (box.isDisposed || !box.isWriting) {
      return;
    }
    this.boxesByRewrite.set(id, box);
    try {
      await this.session.request('rewrite/prompt', params);
    } catch (error) {
      this.boxesByRewrite.delete(id);
      box.fail(describeError(error, this.trans));
    }
  }

  /** Pass a part of an answer to the box of its rewrite. */
  private receive({ rewriteId, content }: RewriteContentReceivedParams): void {
    const id = String(rewriteId);
    const box = this.boxesByRewrite.get(id);
    if (content.type === 'finished' || content.type === 'error') {
      this.boxesByRewrite.delete(id);
    }
    box?.receive(content);
  }

  /** Show in the boxes of all running rewrites that the connection was lost. */
  private failAll(): void {
    for (const box of this.boxesByRewrite.values()) {
      box.fail(this.trans.__('The connection was lost: ask again.'));
    }
    this.boxesByRewrite.clear();
  }
}

/** Return the style in which the proposed hunks are drawn. `buttons` are the buttons of each hunk. */
function createStyle(trans: TranslationBundle, buttons: HunkStyle['buttons']): HunkStyle {
  return {
    side: 'proposed',
    buttons,
    caption: trans.__('Proposed'),
    editedNote: trans.__('You have edited this part')
  };
}

/** The lines of a cell that are rewritten. Whole lines are rewritten, even if the user selected only a part of them. */
interface SelectedLines {
  /** The offset of the first character. */
  readonly from: number;
  /** The offset after the last character. */
  readonly to: number;
  /** The same range as lines and columns, for the server; undefined for the whole cell. */
  readonly range?: Range;
}

/** Return the selected lines of a cell as whole lines; the whole cell when nothing is selected. */
function readSelectedLines(cell: Cell, source: string): SelectedLines {
  const editor = cell.editor;
  const wholeCell = { from: 0, to: source.length };
  if (editor === null) {
    return wholeCell;
  }
  const { start, end } = editor.getSelection();
  const [from, to] = [editor.getOffsetAt(start), editor.getOffsetAt(end)].sort((left, right) => left - right);
  if (from === undefined || to === undefined || from === to) {
    return wholeCell;
  }
  // The selection is extended to the beginning of its first line, and to the end of its last line. If it ends right
  // after a line break, the line after that is not part of it.
  const firstLineStart = source.lastIndexOf('\n', from - 1) + 1;
  const lastLineEnd = source.indexOf('\n', to - Number(source[to - 1] === '\n'));
  // Return the index of the line that contains an offset.
  const findLineIndex = (offset: number): number => source.slice(0, offset).split('\n').length - 1;
  const lines = { from: firstLineStart, to: lastLineEnd < 0 ? source.length : lastLineEnd };
  const startOfLastLine = source.lastIndexOf('\n', lines.to - 1) + 1;
  return {
    ...lines,
    range: {
      start: { line: findLineIndex(lines.from), character: 0 },
      end: { line: findLineIndex(lines.to), character: lines.to - startOfLastLine }
    }
  };
}
