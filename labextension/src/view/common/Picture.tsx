/**
 * An image of a chat.
 *
 * Knows no chat: the image comes with its type and its data.
 */

import * as React from 'react';

import { ImageContent } from '../../wire/protocol';
import { useEnv } from './env';

/** The types that an `img` draws without running code. */
const DRAWN = /^image\/(png|jpeg|gif|webp|svg\+xml)$/;

export function Picture({ image }: { readonly image: ImageContent }): React.ReactElement {
  const { trans } = useEnv();
  return DRAWN.test(image.mediaType) ? (
    <img className="eca-Picture" alt={trans.__('Image')} src={`data:${image.mediaType};base64,${image.base64}`} />
  ) : (
    <p className="eca-Note">{trans.__('An image of the type %1', image.mediaType)}</p>
  );
}
