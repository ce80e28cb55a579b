import { z } from 'zod';
import {
  METADATA_FORM,
  type ObjectForm,
  type ObjectMetadata,
  readMetadata,
  wholeForm,
} from '../../../../packages/kube-api/metadata.ts';
import type { LiveObject } from '../../../../packages/kube-api/read.ts';
import { type ApiObjectName, hasPath, isBuiltIn } from '../../../../packages/kube-api/resources.ts';
import { withMissingRight } from '../../../../packages/kube-api/status.ts';

import type { ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import { DEFINITIONS, definitionName, FORBIDDEN } from './kind-definitions.ts';
import { failed, maySoonBeKnown, refused, type Stop } from './stop.ts';

/** Where an object lies. */
export interface Place {
  readonly kind: ServedKind;
  readonly named: ApiObjectName;
}

const API_SERVICES = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  kind: 'APIService',
  resource: 'apiservices',
  namespaced: false,
} as const satisfies ServedKind;

interface ApiService extends ObjectMetadata {
  /** The API server itself serves the version: it registers each version of definitions so. */
  readonly isLocal: boolean;
}

const Spec = z.object({ spec: z.object({ service: z.unknown().optional() }) });

const API_SERVICE_FORM: ObjectForm<ApiService> = wholeForm((value) => {
  const metadata = readMetadata(value);
  const spec = Spec.safeParse(value);
  return (
    metadata && {
      ...metadata,
      isLocal: spec.success && (spec.data.spec.service === undefined || spec.data.spec.service === null),
    }
  );
});

export interface WithdrawnReads {
  /** Whether the API server, asked just now, told all that it serves and lacks the kind. */
  readonly isUnserved: () => Promise<boolean>;
  readonly read: <Seen extends ObjectMetadata>(
    place: Place,
    form: ObjectForm<Seen>,
  ) => Promise<LiveObject<Seen>>;
}

/**
 * Why a kind does not count as withdrawn; `null` where everything that could serve it is not there. What fails, and what cannot be
 * read, leaves it open (cluster S17).
 */
export async function objectionToWithdrawn(
  kind: ServedKind,
  { isUnserved, read }: WithdrawnReads,
): Promise<Stop | null> {
  const name = definitionName(kind);
  const definition = { kind: DEFINITIONS, named: { namespace: '', name } };
  const service = { kind: API_SERVICES, named: { namespace: '', name: `${kind.version}.${kind.group}` } };
  const arePaths = hasPath(DEFINITIONS, definition.named) && hasPath(API_SERVICES, service.named);
  if (isBuiltIn(kind) || !arePaths) return stays(name, 'no definition can be that of the kind');

  // 1. Discovery is whole and lacks the kind.
  if (!(await isUnserved()))
    return stays(name, 'the API server serves the kind, or does not tell all that it serves');

  // 2. No aggregated API stands for the version: it may only be down.
  const registered = await read(service, API_SERVICE_FORM);
  if (registered.kind === 'unknown') return unknown(registered, service);
  if (registered.kind === 'found' && !registered.object.isLocal)
    return stays(name, `the APIService ${service.named.name} stands for an aggregated API`);

  // 3. The definition is not there. One that is made anew is there before its kind is served again.
  const defined = await read(definition, METADATA_FORM);
  if (defined.kind === 'unknown') return unknown(defined, definition);
  return defined.kind === 'found' ? stays(name, 'the definition is there') : null;
}

const stays = (definition: string, why: string): Stop =>
  refused(
    'owner-unknown',
    `it stays, since the definition ${definition} of its owner may not be gone: ${why}`,
  );

function unknown(live: Extract<LiveObject, { kind: 'unknown' }>, { kind, named }: Place): Stop {
  const soon = maySoonBeKnown(live);
  if (soon !== null) return soon;
  const message = `it stays, since the ${kind.kind} ${named.name} cannot be read: ${withMissingRight(live.message, kind)}`;
  return live.answer.status === FORBIDDEN
    ? failed({ reason: 'forbidden', message })
    : refused('owner-unknown', message);
}
