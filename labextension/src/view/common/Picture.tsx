/**
 * Shows an image of a chat.
 *
 * This module knows no chat: it gets the type and the data of the image.
 */

import * as React from 'react';

import { ImageContent } from '../../wire/protocol';
import { createElement } from './element';
import { useEnv } from './env';

/** Matches the types of images that an `img` element draws without running code. */
const SAFE_TYPE = /^image\/(png|jpeg|gif|webp|svg\+xml)$/;

/** Draws the image. An image of an unsafe type is not drawn: a line names its type. */
export function Picture({ image }: { readonly image: ImageContent }): React.ReactElement {
  const { trans } = useEnv();
  return SAFE_TYPE.test(image.mediaType) ? (
    <img className="eca-Picture" alt={trans.__('Image')} src={`data:${image.mediaType};base64,${image.base64}`} />
  ) : (
    <p className="eca-Note">{trans.__('An image of the type %1', image.mediaType)}</p>
  );
}
