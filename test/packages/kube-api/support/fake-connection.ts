import type { ApiAnswer, ApiConnection } from '../../../../packages/kube-api/connection.ts';
import type { ApiRequest } from '../../../../packages/kube-api/send.ts';
import { ServerClock } from '../../../../packages/kube-api/server-clock.ts';

export interface FakeAnswer {
  readonly status?: number;
  readonly headers?: ApiAnswer['headers'];
  /** What is no text is written as JSON. */
  readonly body?: unknown;
}

/** A connection that answers by a function; streams are what they are given. */
export function fakeConnection(
  answer: (request: ApiRequest) => FakeAnswer,
  body: (signal: AbortSignal) => AsyncIterable<Buffer> = () => chunks(),
): ApiConnection & { readonly asked: readonly ApiRequest[] } {
  const asked: ApiRequest[] = [];
  const answered = (request: ApiRequest) => {
    asked.push(request);
    const { status = 200, headers = {}, body: value = {} } = answer(request);
    return { status, headers, body: typeof value === 'string' ? value : JSON.stringify(value) };
  };
  return {
    asked,
    clock: new ServerClock(),
    call: async (request) => answered(request),
    stream: async (request, signal) => {
      const { status, headers, body: text } = answered(request);
      return { status, headers, body: status === 200 ? body(signal) : chunks(`${text}\n`) };
    },
    [Symbol.dispose]: () => undefined,
  };
}

export async function* chunks(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

export async function allOf<Each>(each: AsyncIterable<Each>): Promise<Each[]> {
  const all: Each[] = [];
  for await (const one of each) all.push(one);
  return all;
}

export const statusBody = (code: number, reason: string, details: object = {}) => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  code,
  reason,
  message: `it says ${reason}`,
  details,
});

export const objectBody = (name: string, over: Readonly<Record<string, unknown>> = {}) => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '7', ...over },
});

export const CONFIG_MAPS = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  resource: 'configmaps',
  namespaced: true,
};
