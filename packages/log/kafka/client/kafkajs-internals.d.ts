/** What is repaired of kafkajs, which has no types of its insides. */
declare module 'kafkajs/src/broker/index.js' {
  import type { AskVersions } from './kafkajs-repairs.ts';

  const broker: { readonly prototype: { apiVersions: AskVersions } };
  export default broker;
}

declare module 'kafkajs/src/cluster/brokerPool.js' {
  import type { AskOneOfThem, AskPool } from './kafkajs-repairs.ts';

  const pool: {
    readonly prototype: { withBroker: AskOneOfThem; connect: AskPool; refreshMetadata: AskPool };
  };
  export default pool;
}

declare module 'kafkajs/src/network/requestQueue/index.js' {
  import type { Enforcing, RequestQueue } from './kafkajs-repairs.ts';

  const queue: {
    readonly prototype: {
      scheduleCheckPendingRequests(this: RequestQueue): void;
      scheduleRequestTimeoutCheck(this: Enforcing): void;
    };
  };
  export default queue;
}

declare module 'kafkajs/src/protocol/requests/createTopics/v2/response.js' {
  import type { ParseCreated } from './kafkajs-repairs.ts';

  const response: { parse: ParseCreated };
  export default response;
}

declare module 'kafkajs/src/protocol/requests/createTopics/v3/response.js' {
  import type { ParseCreated } from './kafkajs-repairs.ts';

  const response: { parse: ParseCreated };
  export default response;
}

declare module 'kafkajs/src/protocol/requests/fetch/v11/response.js' {
  import type { DecodeFetch } from '../protocol/record-batches.ts';

  const response: { decode: DecodeFetch };
  export default response;
}

declare module 'kafkajs/src/protocol/recordBatch/crc32C/index.js' {
  /** The CRC-32C of the bytes, as a number of 32 bits without a sign. */
  const crc32C: (bytes: Buffer) => number;
  export default crc32C;
}
