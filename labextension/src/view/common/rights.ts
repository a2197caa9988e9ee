/**
 * Provides the rights of the user to the views. On a server that several people use, a user may be allowed to read the
 * chats only, or to send messages but not to approve tool calls.
 */

import * as React from 'react';

import { ClientRights } from '../../wire/protocol';

/**
 * The rights of the user; undefined if the user may do everything. The server checks each request, whatever is shown.
 */
export const Rights = React.createContext<ClientRights | undefined>(undefined);

/** Whether the user may send messages. Without this right, the views show no buttons that change a chat. */
export function useMayAsk(): boolean {
  return React.useContext(Rights)?.asks !== false;
}

/** Whether the user may approve tool calls. If not, a call that needs approval waits for somebody else. */
export function useMayApprove(): boolean {
  return React.useContext(Rights)?.approves !== false;
}
