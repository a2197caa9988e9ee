/**
 * Makes an approval rule from a tool call that waits for approval: it gets a proposed rule, adds it to the
 * configuration, and can remove it again. An approval rule is an entry of the configuration that allows such calls
 * without a question.
 *
 * The server writes the configuration. This module knows no view: the user sees `view/tools/RuleProposal.tsx`.
 */

import { ApprovalsProposeResult, ChatId, RulePlace, RuleText } from '../wire/protocol';
import type { Session } from './session';

/** A rule that was added to a configuration file or for a notebook, and can be removed again. */
export interface WrittenRule {
  readonly rule: RuleText;
  /** The path of the configuration file or the notebook that has the rule. */
  readonly file: string;
}

/** Return a key that only this tool call has. The id alone is not enough: calls of two chats may have the same id. */
export function makeCallKey(chatId: ChatId, toolCallId: string): string {
  return `${String(chatId)} ${toolCallId}`;
}

/** The rules that the user has added in this page since it was loaded. */
export class ApprovalRules {
  /** The rules, by the keys of the tool calls from which they were made: see `makeCallKey`. */
  private written: Readonly<Record<string, WrittenRule>> = {};
  /** Called whenever `written` has changed. */
  private readonly subscribers = new Set<() => void>();

  /** `session` returns the session that sends the requests. It may be created after this object. */
  constructor(private readonly session: () => Session) {}

  /** Call `subscriber` whenever a rule was added or removed. The returned function ends the subscription. */
  readonly subscribe = (subscriber: () => void): (() => void) => {
    this.subscribers.add(subscriber);
    return () => this.subscribers.delete(subscriber);
  };

  /** Return the rules that were added, by the keys of their tool calls: see `makeCallKey`. */
  readonly current = (): Readonly<Record<string, WrittenRule>> => this.written;

  /** Ask the server for a rule that would allow calls like this one. Throws: LinkError, RpcError. */
  propose(chatId: ChatId, toolCallId: string): Promise<ApprovalsProposeResult> {
    return this.session().request('approvals/propose', { chatId, toolCallId });
  }

  /**
   * Add the rule at a place (the notebook, or the configuration file of the workspace or the user), and approve the
   * call. The server also runs all other waiting calls that the rule allows.
   *
   * Throws: LinkError, RpcError.
   */
  async addAndApprove(chatId: ChatId, toolCallId: string, proposed: RuleText, place: RulePlace): Promise<void> {
    const session = this.session();
    const rule = place.scope === 'notebook' ? { ...proposed, notebook: place.file } : proposed;
    const params = place.scope === 'notebook' ? rule : { ...rule, scope: place.scope };
    const { file } = await session.request('approvals/add', params);
    this.setWritten({ ...this.written, [makeCallKey(chatId, toolCallId)]: { rule, file } });
    // `false`: approve only this call. The rule covers later calls.
    session.approve(toolCallId, false, chatId);
  }

  /** Remove the rule that was added for a call. What the call has done stays. */
  async remove(chatId: ChatId, toolCallId: string): Promise<void> {
    const key = makeCallKey(chatId, toolCallId);
    const entry = this.written[key];
    if (
      entry !== undefined &&
      (await this.session().requestOrShowError('approvals/remove', entry.rule)) !== undefined
    ) {
      this.setWritten(Object.fromEntries(Object.entries(this.written).filter(([other]) => other !== key)));
    }
  }

  /** Replace `written` and call the subscribers. */
  private setWritten(written: Readonly<Record<string, WrittenRule>>): void {
    this.written = written;
    this.subscribers.forEach(subscriber => {
      subscriber();
    });
  }
}
