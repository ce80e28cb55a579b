import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import type { Ended, OwnLog } from '../../fleetgc.ts';

export const WEB = 'name: web\nmode: enforce\nselector: {clusters: [prod]}\n';
export const ALL = 'name: all\nmode: dry-run\npriority: -1\n';

/** Writes the text to a file and applies it. */
export function apply({ run }: OwnLog, text: string, ...options: readonly string[]): Promise<Ended> {
  const path = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(path, text);
  return run('policy', 'apply', path, ...options);
}
