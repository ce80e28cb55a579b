import { lookDelays, undelayedMs } from './delays.ts';
import type { Evidence, Violation } from './evidence.ts';
import type { History } from './history.ts';
import { textOf } from './kept.ts';
import type { AnyRemoval, JudgedNode } from './removals.ts';

/** Between a look and the removal that follows from it lies a second at the most, and the call itself. */
export const LOOK_MS = 2_000;

/** Nothing goes that was in use for longer than a look takes. */
export function inUse({ played }: Evidence, { name, removals, history }: JudgedNode): readonly Violation[] {
  const delays = lookDelays(played, name);
  return removals.flatMap((removal): Violation[] => {
    const use = useOf(removal, history, (sinceMs) => undelayedMs(delays, sinceMs, removal.askedMs) > LOOK_MS);
    return use === null ? [] : [{ invariant: 'use', node: name, text: `${textOf(removal)}: ${use}` }];
  });
}

type IsLong = (sinceMs: number) => boolean;

/** Why it was in use, for long; `null` when it was not. */
function useOf(removal: AnyRemoval, { containers }: History, isLong: IsLong): string | null {
  switch (removal.kind) {
    case 'sandbox': {
      const { is, sinceMs } = removal.life.ready;
      return is && isLong(sinceMs) ? 'it was ready' : null;
    }
    case 'container': {
      const { running, sinceMs } = removal.life.runs;
      return running && isLong(sinceMs) ? 'it ran' : null;
    }
    case 'image': {
      const users = containers.filter(
        ({ line, gone }) => line.imageId === removal.id && isThere(gone, removal),
      );
      const user = users.find(({ line }) => isLong(line.atMs));
      return user
        ? `container ${user.line.id} used it since ${new Date(user.line.atMs).toISOString()}`
        : null;
    }
  }
}

const isThere = (gone: { readonly atMs: number } | null, { goneMs }: AnyRemoval): boolean =>
  gone === null || gone.atMs > goneMs;
