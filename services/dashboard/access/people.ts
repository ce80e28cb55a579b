import {
  type TokenHolder as HolderOf,
  readTokenFile,
  readTokenLines,
} from '../../../packages/process/token-file.ts';
import { DashboardRole } from '../../../schemas/reports/dashboard.ts';

export { holderOfToken } from '../../../packages/process/token-file.ts';

/** Somebody who may look. */
export interface Person {
  readonly name: string;
  readonly role: DashboardRole;
}

export type TokenHolder = HolderOf<DashboardRole>;

/** `ROLE NAME TOKEN` on each line; `#` begins a comment. Throws `CONFIG_INVALID`. */
export const readTokens = (path: string, text: string): readonly TokenHolder[] =>
  readTokenLines(path, text, DashboardRole.options);

/** The same of a file that none but its user and group can open. Throws `CONFIG_INVALID`. */
export const readPeople = (path: string): readonly TokenHolder[] =>
  readTokenFile(path, DashboardRole.options);
