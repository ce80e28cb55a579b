import { z } from 'zod';
import { FleetGcError } from '../process/errors.ts';
import type { ApiConnection } from './connection.ts';
import { jsonOf, refusalText } from './status.ts';

/** Managed clusters write a plus behind the minor version. */
const VersionAnswer = z.object({
  major: z.string().regex(/^[0-9]{1,4}\+?$/),
  minor: z.string().regex(/^[0-9]{1,4}\+?$/),
  gitVersion: z.string().max(128),
});

export interface ServerVersion {
  readonly major: number;
  readonly minor: number;
  /** As it calls itself. */
  readonly text: string;
}

/** Throws `API_UNREACHABLE` and `API_REFUSED`. */
export async function readServerVersion(
  connection: ApiConnection,
  signal?: AbortSignal,
): Promise<ServerVersion> {
  const answer = await connection.call({ method: 'GET', path: '/version' }, signal);
  const told = answer.status === 200 ? VersionAnswer.safeParse(jsonOf(answer.body)).data : undefined;
  if (told === undefined)
    throw new FleetGcError('API_REFUSED', `the API server does not tell its version: ${refusalText(answer)}`);
  const { major, minor, gitVersion } = told;
  return { major: Number.parseInt(major, 10), minor: Number.parseInt(minor, 10), text: gitVersion };
}
