import { convertToCommandError, type EventStoreDBClient } from "@eventstore/db-client";
import { Client, type ServiceError, status } from "@grpc/grpc-js";
import { answerWithin } from "../deadline.ts";
import { privateClientMethods } from "../privateClientMethods.ts";
import { READ_PATH } from "./readFormat.ts";

type Call = ReturnType<ReturnType<Client["getChannel"]>["createCall"]>;

/** The reason given when we cancel a call. The vendor does not take this text for a broken connection. */
const GIVEN_UP = "Cancelled on client";

/**
 * All messages of the server's answer to one read. It uses the client's channel directly, because the layers of gRPC
 * and of the vendor's generated code take longer than the rest of a read. After `timeMs` it cancels the call and
 * throws AttemptTimedOutError. Otherwise it throws the vendor's errors.
 */
export async function readAnswers(
  client: EventStoreDBClient,
  request: Buffer,
  timeMs: number,
): Promise<readonly Buffer[]> {
  const reading: Reading = { call: null, isGivenUp: false };
  try {
    return await answerWithin(timeMs, answersOf(client, request, reading));
  } catch (error) {
    reading.isGivenUp = true;
    reading.call?.cancelWithStatus(status.CANCELLED, GIVEN_UP);
    throw error;
  }
}

interface Reading {
  /** Null until there is a channel. */
  call: Call | null;
  isGivenUp: boolean;
}

async function answersOf(
  client: EventStoreDBClient,
  request: Buffer,
  reading: Reading,
): Promise<readonly Buffer[]> {
  const vendor = privateClientMethods(client);
  const grpc = await vendor.getGRPCClient(Client, "read");
  if (reading.isGivenUp) return [];
  const deadline = Number.POSITIVE_INFINITY;
  const [metadata, { credentials }] = vendor.callArguments({ requiresLeader: true }, { deadline });
  const call = grpc.getChannel().createCall(READ_PATH, deadline, null, null, null);
  reading.call = call;
  if (credentials) call.setCredentials(credentials);
  return new Promise((resolve, reject) => {
    const answers: Buffer[] = [];
    call.start(metadata, {
      onReceiveMetadata: () => call.startRead(),
      onReceiveMessage(answer: Buffer) {
        answers.push(answer);
        call.startRead();
      },
      onReceiveStatus(end) {
        if (end.code === status.OK) return resolve(answers);
        const message = `${end.code} ${status[end.code]}: ${end.details}`;
        const error: ServiceError = Object.assign(new Error(message), end);
        if (!reading.isGivenUp) void vendor.handleError(grpc, error).catch(() => {});
        reject(convertToCommandError(error));
      },
    });
    call.sendMessageWithContext({}, request);
    call.halfClose();
  });
}
