import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';

const PIECE = Buffer.alloc(1024 * 1024, 1);

/**
 * Makes a file as large as the simulated disk says that it is used, with real blocks, so that whoever measures the
 * filesystem reads what the simulated runtime means. A full filesystem is as full as it gets.
 */
export function openBallast(path: string): { readonly weigh: (bytes: number) => void } & Disposable {
  const file = openSync(path, 'a');
  const grow = (bytes: number): void => {
    for (let size = fstatSync(file).size; size < bytes; size = fstatSync(file).size)
      writeSync(file, PIECE, 0, Math.min(PIECE.length, bytes - size));
  };
  return {
    weigh: (bytes) => {
      if (fstatSync(file).size > bytes) ftruncateSync(file, bytes);
      try {
        grow(bytes);
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      }
    },
    [Symbol.dispose]: () => closeSync(file),
  };
}
