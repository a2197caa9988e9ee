/** Tells the views what the user may do on this server, where somebody else may do more. */

import * as React from 'react';

import { ClientRights } from '../../wire/protocol';

/** What the user may do; undefined if everything. The server refuses the rest, whatever a view shows. */
export const Rights = React.createContext<ClientRights | undefined>(undefined);
