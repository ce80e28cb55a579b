import { z } from 'zod';
import { type Connection, unreadable } from '../../../../packages/cri/connection.ts';
import type { RpcMethod } from '../../../../packages/cri/rpc.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { isArray, isObject, type Json, toJson } from '../../mutate/json.ts';
import { asObject } from '../../mutate/schema.ts';

/** Bytes of one answer that are others: which answer, where, and which byte. */
const Bytes = z
  .array(z.tuple([z.int().nonnegative(), z.int().nonnegative(), z.int().min(0).max(255)]))
  .catch([]);

/** What inputs are like: an answer to each method, and bytes that are changed when they are on their way. */
export const answersSchema = (
  methods: Readonly<Record<string, RpcMethod<z.ZodType, z.ZodType>>>,
): z.ZodType =>
  z.object({
    answers: z.object(
      Object.fromEntries(Object.entries(methods).map(([name, { response }]) => [name, response])),
    ),
    bytes: Bytes,
  });

/** A runtime that answers so. An answer that cannot be written is the one before it was made up: empty. */
export function connectionAnswering(
  input: Json,
  methods: Readonly<Record<string, RpcMethod<z.ZodType, z.ZodType>>>,
): Connection {
  const { answers, bytes } = asObject(input);
  const changed = Bytes.parse(bytes ?? []);
  const names = new Map(
    Object.entries(methods).map(([name, { definition }], index) => [definition.path, { name, index }]),
  );
  const answer = <Response extends z.ZodType>(
    { definition, response }: RpcMethod<z.ZodType, Response>,
    given: Json,
  ): z.output<Response> => {
    const site = { socketPath: '/run/fuzz.sock', path: definition.path };
    const sent = written(definition.responseSerialize, given);
    const { index = 0 } = names.get(definition.path) ?? {};
    for (const [of, at, byte] of changed)
      if (sent.length > 0 && of % names.size === index) sent[at % sent.length] = byte;
    const result = response.safeParse(received(() => definition.responseDeserialize(sent)));
    if (result.success) return result.data;
    throw unreadable(site, z.prettifyError(result.error));
  };
  const givenTo = ({ definition }: RpcMethod<z.ZodType, z.ZodType>): Json =>
    asObject(answers)[names.get(definition.path)?.name ?? ''] ?? {};
  const call: Connection['call'] = async (method) => answer(method, givenTo(method));
  return {
    socketPath: '/run/fuzz.sock',
    call,
    callUncancelled: call,
    stream: async function* (method) {
      yield answer(method, givenTo(method));
    },
    [Symbol.dispose]: () => undefined,
    collect: async (method) => {
      const given = givenTo(method);
      return (isArray(given) ? given : [given]).map((one) => answer(method, one));
    },
  };
}

/** What the library cannot write nobody can send. */
function written(serialize: (message: object) => Buffer, given: Json): Buffer {
  try {
    return serialize(isObject(given) ? given : {});
  } catch {
    return Buffer.alloc(0);
  }
}

/** As gRPC does with an answer that it cannot read. */
function received(read: () => object): object {
  try {
    return read();
  } catch (cause) {
    throw new FleetGcError('RUNTIME_FAILED', 'the answer cannot be read', { cause });
  }
}

export const answersOf = (answers: unknown): Json => ({ answers: toJson(answers), bytes: [] });
