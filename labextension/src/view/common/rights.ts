/** Tells the views what the user may do on this server, where somebody else may do more. */

import * as React from 'react';

import { ClientRights } from '../../wire/protocol';

/** What the user may do; undefined if everything. The server refuses the rest, whatever a view shows. */
export const Rights = React.createContext<ClientRights | undefined>(undefined);

/** Whether the user may ask. Who may not has no buttons that change a chat. */
export function useMayAsk(): boolean {
  return React.useContext(Rights)?.asks !== false;
}

/** Whether the user may approve tool calls. If not, what needs approval waits for somebody else. */
export function useMayApprove(): boolean {
  return React.useContext(Rights)?.approves !== false;
}
