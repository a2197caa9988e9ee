/**
 * Turns images that are pasted or dropped into contexts of a prompt.
 *
 * This module knows no view: the prompt box is `view/composer/Composer.tsx`. `pasted_cells.ts` turns pasted cells
 * into contexts.
 */

import { ImageContext } from '../wire/protocol';

/** The types of images that models accept. */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** The size in bytes above which providers refuse an image. */
export const LARGEST_IMAGE_BYTES = 5 * 1024 * 1024;

/** Whether a file is an image that models accept. */
export function isImage(file: File): boolean {
  return IMAGE_TYPES.includes(file.type);
}

/** Read an image file into a context. Throws when the file cannot be read. */
export async function toImageContext(file: File): Promise<ImageContext> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      resolve(reader.result as string);
    };
    reader.onerror = () => {
      reject(reader.error ?? new Error('the image cannot be read'));
    };
    reader.readAsDataURL(file);
  });
  // The URL is `data:image/png;base64,` and then the data.
  return { type: 'image', mediaType: file.type, base64: url.slice(url.indexOf(',') + 1) };
}
