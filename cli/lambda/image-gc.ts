import { decider } from '../../services/deciders/functions/deciders/image-gc.ts';
import { lambdaHandler } from './handler.ts';

/** What AWS Lambda calls. */
export const handler = lambdaHandler(decider);
