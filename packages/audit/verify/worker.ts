import { parentPort, workerData } from 'node:worker_threads';
import { servePartitions } from './serve-partitions.ts';

if (parentPort !== null) servePartitions(parentPort, workerData);
