import { z } from 'zod';
import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import { runCriProxy } from '../../services/node/cri-proxy/main.ts';
import { offeredSocket, socketOptions } from '../../services/node/cri-proxy/options.ts';
import { nodeOptions } from '../../services/node/node-options.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions } from '../options/common-options.ts';

/** A file of its own, since the code of a node is twice as much as all that it needs. */
export const criProxyVerb = defineVerb({
  help: [
    'For a node-agent that runs without root: it reads the runtime through this socket, on which nothing can be removed, pulled or started. Whoever may use it can still read how containers are configured.',
  ],
  examples: [
    'fleetgc cri-proxy --proxy-socket-group fleetgc',
    'fleetgc node-agent --cluster prod --kafka-brokers kafka:9092 --runtime-endpoint unix:///run/fleetgc-cri/cri.sock',
  ],
  options: z.object({
    runtimeEndpoint: nodeOptions.runtimeEndpoint,
    ...socketOptions,
    ...httpOptions(9649),
  }),
  run: async ({ runtimeEndpoint, httpAddress, ...socket }, { logger, signal }) => {
    const build = { service: 'cri-proxy', version: PRODUCT_VERSION };
    await runCriProxy({ build, socket: offeredSocket(socket), runtimeEndpoint, httpAddress, logger }, signal);
  },
});
