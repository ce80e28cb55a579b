import { Readable, Transform, type TransformCallback } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';

/** Of whatever is no object: a thousand names, or a reason. */
const MOST_ANSWER_BYTES = 16 * 1024 * 1024;

interface Answer {
  readonly statusCode: number;
  body: Readable;
}

const isAnswer = (response: unknown): response is Answer =>
  typeof response === 'object' &&
  response !== null &&
  'statusCode' in response &&
  typeof response.statusCode === 'number' &&
  'body' in response &&
  response.body instanceof Readable;

/** The content of an object is read by `readObject`, which knows how much there is to come. */
const isObject = (commandName: string | undefined, { statusCode }: Answer): boolean =>
  commandName === 'GetObjectCommand' && statusCode < 300;

/** Has the SDK read no answer that is longer than any can be, whoever gives it. */
export function boundAnswers(client: S3Client): void {
  const bounding =
    <Args, Result extends { readonly response: unknown }>(
      next: (args: Args) => Promise<Result>,
      { commandName }: { readonly commandName?: string },
    ) =>
    async (args: Args): Promise<Result> => {
      const result = await next(args);
      const { response } = result;
      if (isAnswer(response) && !isObject(commandName, response)) response.body = bounded(response.body);
      return result;
    };
  client.middlewareStack.addRelativeTo(bounding, {
    relation: 'after',
    toMiddleware: 'deserializerMiddleware',
    name: 'boundAnswers',
  });
}

function bounded(body: Readable): Readable {
  let bytes = 0;
  const limit = new Transform({
    transform: (chunk: Buffer, _: BufferEncoding, done: TransformCallback) => {
      bytes += chunk.length;
      done(bytes > MOST_ANSWER_BYTES ? tooLong() : null, chunk);
    },
  });
  limit.on('error', () => body.destroy());
  body.on('error', (error) => limit.destroy(error));
  return body.pipe(limit);
}

const tooLong = (): Error => new Error(`the answer has more than ${MOST_ANSWER_BYTES} bytes`);
