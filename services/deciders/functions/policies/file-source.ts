import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { MAX_POLICY_DOCUMENT_BYTES } from '../../../../packages/policy/policy-document.ts';
import { unreadableReason } from '../../../../packages/process/options/named-file.ts';
import type { DocumentSource, Look } from './document-source.ts';

const EVERY_MS = 10_000;

/** Reads the file anew whenever its time, its size or its place on the disk is another one. */
export function fileSource(path: string): DocumentSource {
  let last: string | null = null;
  return {
    name: path,
    everyMs: EVERY_MS,
    forget: () => {
      last = null;
    },
    look: async (): Promise<Look> => {
      try {
        // To open a pipe would else wait for its writer, and every caller with it.
        await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
        const stat = await file.stat({ bigint: true });
        if (!stat.isFile()) return { kind: 'missing', why: 'it is no file' };
        const { mtimeNs, size, ino } = stat;
        const state = `${mtimeNs} ${size} ${ino}`;
        if (state === last) return { kind: 'unchanged' };
        if (size > MAX_POLICY_DOCUMENT_BYTES)
          return {
            kind: 'missing',
            why: `it has more than the ${MAX_POLICY_DOCUMENT_BYTES} bytes that are read`,
          };
        const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(Number(size)), position: 0 });
        last = state;
        return { kind: 'bytes', bytes: buffer.subarray(0, bytesRead) };
      } catch (error) {
        last = null;
        return { kind: 'missing', why: unreadableReason(error) };
      }
    },
  };
}
