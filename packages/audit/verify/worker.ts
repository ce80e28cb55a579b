import { parentPort, workerData } from 'node:worker_threads';
import { servePartitions } from './log.ts';

if (parentPort !== null) servePartitions(parentPort, workerData);
