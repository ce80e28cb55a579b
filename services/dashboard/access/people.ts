import { type TokenHolder as HolderOf, readTokenFile } from '../../../packages/process/token-file.ts';
import { DashboardRole } from '../../../schemas/reports/dashboard.ts';

export { holderOfToken } from '../../../packages/process/token-file.ts';

/** Somebody who may look. */
export interface Person {
  readonly name: string;
  readonly role: DashboardRole;
}

export type TokenHolder = HolderOf<DashboardRole>;

/** Reads the file of tokens: `ROLE NAME TOKEN` on each line; `#` begins a comment. Throws `CONFIG_INVALID`. */
export const readTokens = (path: string, text: string): readonly TokenHolder[] =>
  readTokenFile(path, text, DashboardRole.options);
