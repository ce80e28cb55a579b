import { z } from 'zod';
import { FleetGcError } from '../process/errors.ts';
import type { ApiConnection } from './connection.ts';
import { jsonOf, refusalText } from './status.ts';

/** One resource of one version of a group, as discovery tells it. */
export interface DiscoveredResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

interface DiscoveredVersion {
  readonly version: string;
  /** The API server could not ask who serves it, and told what it knew. */
  readonly isStale: boolean;
  readonly resources: readonly DiscoveredResource[];
}

/** Versions in the order of preference. */
export interface DiscoveredGroup {
  /** Empty for the core group. */
  readonly group: string;
  readonly versions: readonly DiscoveredVersion[];
}

export interface Discovery {
  readonly groups: readonly DiscoveredGroup[];
  /** Of both halves, to ask again with. */
  readonly etags: { readonly core: string; readonly groups: string };
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

const MAX_GROUPS = 5_000;
const MAX_NAME_LENGTH = 253;
const Name = z.string().max(MAX_NAME_LENGTH);
const Resource = z.object({
  resource: Name.min(1),
  responseKind: z
    .object({ group: Name.default(''), version: Name.default(''), kind: Name.default('') })
    .nullish(),
  scope: z.enum(['Namespaced', 'Cluster']),
  verbs: z.array(z.string().max(64)).max(100).default([]),
});
const Version = z.object({
  version: Name.min(1),
  freshness: z.string().max(64).default('Current'),
  resources: z.array(Resource).max(10_000).default([]),
});
const GroupList = z.object({
  kind: z.literal('APIGroupDiscoveryList'),
  items: z
    .array(
      z.object({
        metadata: z.object({ name: Name.default('') }).default({ name: '' }),
        versions: z.array(Version).max(100).default([]),
      }),
    )
    .max(MAX_GROUPS),
});

/**
 * All that an API server serves, in two requests; `null` when nothing changed since `before`. Rejects with `API_REFUSED`,
 * `API_ANSWER_UNREADABLE`, and what the connection rejects with.
 */
export async function discover(
  connection: ApiConnection,
  before: Discovery | null,
): Promise<Discovery | null> {
  const [core, named] = await Promise.all([
    half(connection, '/api', before?.etags.core),
    half(connection, '/apis', before?.etags.groups),
  ]);
  if (core === null && named === null) return null;
  return {
    groups: [
      ...(core?.groups ?? keptOf(before, (group) => group === '')),
      ...(named?.groups ?? keptOf(before, (group) => group !== '')),
    ],
    etags: {
      core: core?.etag ?? before?.etags.core ?? '',
      groups: named?.etag ?? before?.etags.groups ?? '',
    },
  };
}

const keptOf = (before: Discovery | null, isOne: (group: string) => boolean): readonly DiscoveredGroup[] =>
  (before?.groups ?? []).filter(({ group }) => isOne(group));

interface Half {
  readonly groups: readonly DiscoveredGroup[];
  readonly etag: string;
}

/** `null` when it is as it was. */
async function half(connection: ApiConnection, path: string, etag: string | undefined): Promise<Half | null> {
  const asked = etag !== undefined && etag !== '' ? { ifNoneMatch: etag } : {};
  const answer = await connection.call({ method: 'GET', path, accept: AGGREGATED, ...asked });
  if (answer.status === 304) return null;
  if (answer.status !== 200)
    throw new FleetGcError(
      'API_REFUSED',
      `the API server does not tell what it serves: ${refusalText(answer)}`,
    );
  const parsed = GroupList.safeParse(jsonOf(answer.body));
  if (!parsed.success)
    throw new FleetGcError(
      'API_ANSWER_UNREADABLE',
      `the API server tells in an unknown form what it serves (${path}): it has to be Kubernetes 1.30 or newer`,
    );
  return { groups: parsed.data.items.map(groupOf), etag: answer.headers.etag ?? '' };
}

const groupOf = ({ metadata, versions }: z.infer<typeof GroupList>['items'][number]): DiscoveredGroup => ({
  group: metadata.name,
  versions: versions.map(({ version, freshness, resources }) => ({
    version,
    isStale: freshness !== 'Current',
    resources: resources.map((each) => ({
      group: metadata.name,
      version,
      kind: each.responseKind?.kind ?? '',
      resource: each.resource,
      namespaced: each.scope === 'Namespaced',
      verbs: each.verbs,
    })),
  })),
});

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
